"""What the planner concludes from the plan before: which limits moved, whom to trust, what still burns."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core import emergency
from easyrider_policy.core.fleet import Fleet
from easyrider_policy.core.records import LONG_AGO, Memory, Situation
from easyrider_policy.core.trust import TRUSTED
from easyrider_policy.core.walls import Walls

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MOVED_W = 0.5
DOUBT = 0.5
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
    against = confidence >= TRUSTED if memory.reactive else confidence < DOUBT
    if not against:
        return memory.reactive, 0.0
    doubt_s = memory.doubt_s + max(0.0, situation.now_s - memory.last_s)
    patience_s = TRUST_FOR_S if memory.reactive else DOUBT_FOR_S
    return (not memory.reactive, 0.0) if doubt_s >= patience_s else (memory.reactive, doubt_s)


def beside(memory: Memory, situation: Situation) -> Memory:
    """What the product's planner must know of a moment in which another decided: nothing that is that one's word."""
    changed_s, lowered_s = moves(memory, situation)
    trusts_not, doubt_s = reactive(memory, situation)
    elapsed_s = max(0.0, situation.now_s - memory.last_s)
    return replace(
        memory,
        last_s=situation.now_s,
        limit_w=situation.limit_w,
        changed_s=changed_s,
        lowered_s=lowered_s,
        penalty_w=emergency.decayed(memory.penalty_w, elapsed_s, situation.target_w),
        alarm_for_s=np.zeros_like(memory.alarm_for_s),
        acted_ago_s=memory.acted_ago_s + elapsed_s,
        target_w=situation.target_w,
        reactive=trusts_not,
        doubt_s=doubt_s,
        solution=None,
    )


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Emergency:
    """(D,) domains in alarm, penalties on their targets, and how long alarms and calm have lasted."""

    alarm: Bools
    penalty_w: Floats
    alarm_for_s: Floats
    acted_ago_s: Floats


def alarms(fleet: Fleet, walls: Walls, target_w: Floats, hard_w: Floats, unmanaged_w: Floats) -> Bools:
    """Domains (D,) that draw too much right now; cheap enough to ask after every frame."""
    if walls.filled == 0:
        return np.zeros(len(fleet.domains), dtype=np.bool_)
    standing_w = walls.standing_w(unmanaged_w)
    second_w, peak_w = walls.window_w(1) + standing_w, walls.peak_part_w + standing_w
    return emergency.alarmed(walls.target_means_w() + standing_w, second_w, peak_w, target_w, hard_w)


def emergencies(
    fleet: Fleet, walls: Walls, situation: Situation, memory: Memory, lowered_s: Floats
) -> Emergency:
    """What measured excess asks for. A plan already under way must show first: its lowering, its new target.

    A device whose trip curve leaves no time for that is not waited for.
    """
    elapsed_s = max(0.0, situation.now_s - memory.last_s)
    target_w, hard_w = situation.target_w, situation.hard_w
    alarm = alarms(fleet, walls, target_w, hard_w, situation.unmanaged_target_w)
    pressed = np.zeros(len(alarm), dtype=np.bool_) if situation.pressed is None else situation.pressed
    alarm = alarm | pressed
    # What still burns does not decay: what it loses while it waits would stay above the target for good.
    penalty_w = np.where(alarm, memory.penalty_w, emergency.decayed(memory.penalty_w, elapsed_s, target_w))
    alarm_for_s = np.where(alarm, memory.alarm_for_s + elapsed_s, 0.0)
    acted_ago_s = memory.acted_ago_s + elapsed_s
    if memory.target_w is not None:
        acted_ago_s = np.where(target_w < memory.target_w - 0.5, 0.0, acted_ago_s)
    if alarm.any():
        acted_ago_s = np.minimum(acted_ago_s, situation.now_s - _last_below(fleet, lowered_s))
        due = (
            alarm
            & ~_spent(memory, len(alarm))
            & (pressed | (acted_ago_s >= emergency.WAIT_S) | (alarm_for_s >= emergency.PATIENCE_S))
        )
        standing_w = walls.standing_w(situation.unmanaged_target_w)
        over_hard_w = walls.peak_part_w + standing_w - emergency.near_hard_w(target_w, hard_w)
        excess_w = np.maximum(walls.window_w(1) + standing_w - target_w, over_hard_w)
        penalty_w = emergency.penalised(penalty_w, due, excess_w, target_w, pressed)
        acted_ago_s, alarm_for_s = np.where(due, 0.0, acted_ago_s), np.where(due, 0.0, alarm_for_s)
    return Emergency(alarm=alarm, penalty_w=penalty_w, alarm_for_s=alarm_for_s, acted_ago_s=acted_ago_s)


def _spent(memory: Memory, domains: int) -> Bools:
    """Domains (D,) whose jobs are all at their minimum already: a penalty there cuts nothing, and lingers."""
    if memory.solution is None or len(memory.solution.floors.missing_w) != domains:
        return np.zeros(domains, dtype=np.bool_)
    return memory.solution.floors.missing_w > 0


def _last_below(fleet: Fleet, board_s: Floats) -> Floats:
    """The latest of the boards' times (G,) below each domain (D,)."""
    latest = np.full(len(fleet.domains), LONG_AGO)
    links = fleet.weights.of_nodes
    node_s = np.full(len(fleet.nodes), LONG_AGO)
    np.maximum.at(node_s, fleet.gpu_node, board_s)
    np.maximum.at(latest, links.above, node_s[links.below])
    return latest
