"""What every board is asked for next: down at once, up by the share that the verified room carries."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.counting import Sums
from easyrider_policy.core.fleet import Bools, Fleet, Floats
from easyrider_policy.core.holds import Held
from easyrider_policy.core.raises import Admitted, admit, none

Ints = NDArray[np.int64]

LEAST_STEP_W = 1.0
"""A part of a raise smaller than this waits for more room."""
SAME_W = 0.001


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Asked:
    """Watts asked of each board (G,): its limit and where its dead-man takes it."""

    limit_w: Floats
    fallback_w: Floats

    def no_higher(self, holds: Held, limit_w: Floats, fallback_w: Floats) -> "Asked":
        """Where boards are held: no more than was acked, so that a raise under way is taken back, not said again."""
        return Asked(
            limit_w=np.where(holds.boards, np.fmin(self.limit_w, limit_w), self.limit_w),
            fallback_w=np.where(holds.boards, np.fmin(self.fallback_w, fallback_w), self.fallback_w),
        )

    def within(self, counted_w: Floats, overshoot: Floats) -> "Asked":
        """What of it is certain: a raise that a node took and did not make is a raise again."""
        return Asked(
            limit_w=_within(self.limit_w, counted_w, overshoot),
            fallback_w=_within(self.fallback_w, counted_w, overshoot),
        )


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Step:
    """One move of the whole fleet from `base` towards `target`; `ours` (G,) boards that may be asked at all."""

    base: Asked
    target: Asked
    ours: Bools
    counted_w: Floats
    overshoot: Floats
    group: Ints  # (G,) boards with one number move up together
    node: Ints  # (G,)
    able: Bools  # (N,) nodes that may be commanded
    free: Bools  # (N,) nodes whose boards may rise
    holds: Held | None = None  # boards that may not, by an operator's word

    @property
    def rises(self) -> Bools:
        """(G,) boards whose limit or fallback should go up."""
        up = (self.target.limit_w > self.base.limit_w) | (self.target.fallback_w > self.base.fallback_w)
        return self.ours & up

    @property
    def bound(self) -> Bools:
        """(G,) boards that may not rise, whatever room there is."""
        bound = ~self.free[self.node]
        return bound if self.holds is None else bound | self.holds.boards


def targets(fleet: Fleet, limit_w: Floats, ours: Bools, base: Asked) -> Asked:
    """Limits in whole milliwatts inside the range, rounded down, and the rules' fallbacks; else the base."""
    inside_w = np.minimum(np.fmax(limit_w, fleet.min_w), fleet.max_w)
    whole_w = np.maximum(_milliwatts(inside_w), fleet.min_w)
    return Asked(
        limit_w=np.where(ours, whole_w, base.limit_w),
        fallback_w=np.where(ours, fleet.fallbacks_w, base.fallback_w),
    )


def groups(job: Ints) -> Ints:
    """(G,) one number per job; an idle board (-1) is alone."""
    return np.where(job >= 0, job, int(job.max(initial=-1)) + 1 + np.arange(len(job)))


def shares(fleet: Fleet, step: Step, sums: Sums, room_w: Floats) -> Admitted:
    """How much of each raise may be sent, into `room_w` (D,)."""
    rises, group = step.rises, step.group
    if not rises.any():
        return none(fleet)
    # A synchronous job rises as one or not at all: one board that cannot rise holds the others.
    barred = np.zeros(int(group.max(initial=-1)) + 1, dtype=np.bool_)
    barred[group[rises & step.bound]] = True
    could = rises & ~barred[group]
    wish_w = np.maximum(step.target.limit_w, step.target.fallback_w) * step.overshoot
    need_w = np.where(could, np.maximum(0.0, wish_w - step.counted_w), 0.0)
    admitted = admit(fleet, need_w, could, group, room_w, sums.blocked)
    small = (admitted.share < 1.0) & (
        admitted.share * (step.target.limit_w - step.base.limit_w) < LEAST_STEP_W
    )
    whole = np.ones(len(barred))
    np.minimum.at(whole, group[could], np.where(small[could], 0.0, 1.0))
    return Admitted(share=np.where(could, admitted.share * whole[group], 0.0), binding=admitted.binding)


def taken(fleet: Fleet, step: Step, held: Asked, share: Floats) -> Asked:
    """What is asked next. Boards that are not ours or cannot be told keep what was asked, less a raise that a hold
    takes back: a vector repeats it as long as their limits stand.
    """
    if step.holds is not None:
        held = held.no_higher(step.holds, step.base.limit_w, step.base.fallback_w)
    told = step.ours & step.able[fleet.gpu_node]
    return Asked(
        limit_w=np.where(told, _moved(step.base.limit_w, step.target.limit_w, share), held.limit_w),
        fallback_w=np.where(
            told, _moved(step.base.fallback_w, step.target.fallback_w, share), held.fallback_w
        ),
    )


def _moved(base_w: Floats, target_w: Floats, share: Floats) -> Floats:
    next_w = target_w.copy()
    part = np.flatnonzero(~((target_w <= base_w) | (share >= 1.0)))  # of most boards nothing moves
    low_w, high_w = base_w[part], target_w[part]
    next_w[part] = np.maximum(_milliwatts(low_w + share[part] * (high_w - low_w)), low_w)
    return next_w


def _within(asked_w: Floats, counted_w: Floats, overshoot: Floats) -> Floats:
    short = asked_w * overshoot > counted_w + SAME_W
    return np.where(short, _milliwatts(counted_w / overshoot), asked_w) if short.any() else asked_w


def _milliwatts(watts: Floats) -> Floats:
    whole: Floats = np.floor(watts * 1000 + 1e-3) / 1000
    return whole
