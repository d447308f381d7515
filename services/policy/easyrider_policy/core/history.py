"""What the planner concludes from the plan before: which limits moved, whom to trust, what still burns."""

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core import emergency
from easyrider_policy.core.fleet import Fleet
from easyrider_policy.core.records import Memory, Situation
from easyrider_policy.core.walls import Walls

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MOVED_W = 0.5
DOUBT = 0.5
TRUST = 0.6
DOUBT_FOR_S = 3.0
TRUST_FOR_S = 20.0


def moves(memory: Memory, situation: Situation) -> tuple[Floats, Floats]:
    """When each board's limit last moved and last fell (G,), monotonic s."""
    with np.errstate(invalid="ignore"):
        change_w = situation.limit_w - memory.limit_w
        moved, fell = np.abs(change_w) > MOVED_W, change_w < -MOVED_W
    if not moved.any():
        return memory.changed_s, memory.lowered_s
    return (
        np.where(moved, situation.now_s, memory.changed_s),
        np.where(fell, situation.now_s, memory.lowered_s),
    )


def reactive(memory: Memory, situation: Situation) -> tuple[bool, float]:
    """Whether forecasts are left aside, and for how long the confidence has spoken against that.

    It turns to doubt in 3 s and back to trust in 20 s, so that limits do not follow a wavering confidence.
    """
    confidence = 0.0 if situation.confidence is None else situation.confidence
    against = confidence >= TRUST if memory.reactive else confidence < DOUBT
    if not against:
        return memory.reactive, 0.0
    doubt_s = memory.doubt_s + max(0.0, situation.now_s - memory.last_s)
    patience_s = TRUST_FOR_S if memory.reactive else DOUBT_FOR_S
    return (not memory.reactive, 0.0) if doubt_s >= patience_s else (memory.reactive, doubt_s)


def emergencies(
    fleet: Fleet, walls: Walls, situation: Situation, memory: Memory
) -> tuple[Bools, Floats, Floats]:
    """Domains (D,) in alarm, penalties on their targets, and seconds since each penalty last rose."""
    standing_w = walls.standing_w(situation.unmanaged_target_w)
    second_w = walls.window_w(1) + standing_w
    peak_w = walls.peak_part_w + standing_w
    window_w = _window(fleet, walls) + standing_w
    alarm = emergency.alarmed(window_w, second_w, peak_w, situation.target_w, situation.hard_w)
    if walls.filled == 0:
        alarm = np.zeros_like(alarm)
    excess_w = np.maximum(second_w - situation.target_w, peak_w - emergency.NEAR_HARD * situation.hard_w)
    penalty_w, ago_s = emergency.penalised(
        memory.penalty_w,
        memory.penalised_ago_s,
        max(0.0, situation.now_s - memory.last_s),
        alarm,
        excess_w,
        situation.target_w,
    )
    return alarm, penalty_w, ago_s


def _window(fleet: Fleet, walls: Walls) -> Floats:
    """Mean board part (D,) over each domain's own target window, in whole seconds."""
    spans = np.array([max(1, round(domain.target_window_s)) for domain in fleet.domain_records])
    result = np.zeros(len(spans))
    for span in set(spans.tolist()):
        mine = spans == span
        result[mine] = walls.window_w(span)[mine]
    return result
