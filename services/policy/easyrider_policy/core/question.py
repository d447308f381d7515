"""What is asked of the solver in one plan; the same question has the same answer."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.budgets import Budgets
from easyrider_policy.core.observe import Observation
from easyrider_policy.core.pilots import PilotFloors
from easyrider_policy.core.stalls import CAP_PER_DRAW
from easyrider_policy.core.weights import Loads

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

GRAIN_W = 5.0


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Question:
    """(J,) arrays hold watts per board. `mine`: jobs with a board that is steered."""

    loads: Loads
    room: Budgets
    natural_w: Floats  # beyond it a limit binds nobody
    duty: Floats  # mean draw per watt of it, over ten seconds
    busy: Ints
    stalled: Bools
    mine: Bools
    ceiling_w: Floats | None  # what others let a job have at most
    pilots: PilotFloors | None = None

    def is_as(self, other: "Question") -> bool:
        """Whether the other asks for the very same."""
        return (
            self.loads is other.loads
            and _equal(self.room.target_w, other.room.target_w)
            and _equal(self.room.hard_w, other.room.hard_w)
            and _equal(self.natural_w, other.natural_w)
            and _equal(self.duty, other.duty)
            and (self.busy is other.busy or _equal(self.busy, other.busy))
            and _equal(self.stalled, other.stalled)
            and _equal(self.mine, other.mine)
            and (self.ceiling_w is None) == (other.ceiling_w is None)
            and (other.pilots is None if self.pilots is None else self.pilots.is_as(other.pilots))
            and (self.ceiling_w is None or other.ceiling_w is None or _equal(self.ceiling_w, other.ceiling_w))
        )


def ask(
    observation: Observation,
    loads: Loads,
    room: Budgets,
    ours: Bools,
    jobs: Bools,
    ceiling_w: Floats | None = None,
    held: Bools | None = None,
    pilots: PilotFloors | None = None,
) -> Question:
    """The question of jobs (J,) `jobs` on boards (G,) `ours`.

    A stalled job is lent from: it counts as its own draw and may reach 1.25 times that. One that has just begun
    and was not read yet cannot draw more than idle boards are held at. `held` (J,): may not rise, so nothing is lent.
    """
    layout = observation.layout
    stalled = observation.stalls.stalled if held is None else observation.stalls.stalled & ~held
    natural_w, duty = np.maximum(observation.peak_w, layout.min_w), observation.duty.duty.copy()
    if stalled.any():
        unseen = stalled & (observation.peaks.counts.sum(axis=0) == 0)
        drawn_w = np.where(unseen, layout.min_w / CAP_PER_DRAW, observation.draw_w)
        stalled = stalled & np.isfinite(drawn_w)
        # Upwards in whole steps, so that a few watts of noise ask for no new plan.
        draw_w = np.where(stalled, np.ceil(drawn_w / GRAIN_W) * GRAIN_W, 1.0)
        highest_w = np.where(stalled, np.ceil(observation.highest_w / GRAIN_W) * GRAIN_W, 1.0)
        lent_w = np.clip(CAP_PER_DRAW * np.fmax(draw_w, highest_w), layout.min_w, layout.max_w)
        natural_w = np.where(stalled, lent_w, natural_w)
        duty = np.where(stalled, np.minimum(draw_w / natural_w, 1.0), duty)
    mine = np.zeros(0, dtype=np.bool_)
    if layout.job_count:
        mine = jobs & np.logical_or.reduceat(ours[layout.seat], layout.job_start)
    return Question(
        loads=loads,
        room=room,
        natural_w=natural_w,
        duty=duty,
        busy=observation.curve_classes,
        stalled=stalled,
        mine=mine,
        ceiling_w=ceiling_w,
        pilots=pilots,
    )


def _equal(a: NDArray[np.generic], b: NDArray[np.generic]) -> bool:
    return a.shape == b.shape and bool((a == b).all())
