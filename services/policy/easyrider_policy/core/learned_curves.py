"""Which power-speed curve each job has, learned from how long its iterations take under different limits.

Every shape of the bank foretells how much longer an iteration takes at a limit. The shape whose foretelling leaves
the least unexplained is the job's, once it was watched long enough, under limits far enough apart, and explains
what the curve before left open by a clear margin. How long an uncapped iteration takes need not be known. Until
then a prior by class of device holds. A curve moves by one shape at a time and only between limits, so that what
is learned changes no plan in a hurry; what is wrong costs speed and never a limit.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core import curves

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

STEEP_RATING_W: Final = 300.0
"""Boards rated up to this (V100, A40; Zeus traces, NSDI 2023) lose more below their knee than larger ones."""
STEEP_SHAPE: Final = curves.STEEPNESS.index(0.25)
ENOUGH: Final = 30.0
"""Iteration periods that must have been heard, those of long ago counting less."""
MEMORY: Final = 600.0
APART: Final = 0.012
"""Standard deviation of the foretold log speed: nearer limits tell no shapes apart."""
NOISE: Final = 0.03
"""A job whose period wanders by more, limits aside, is not explained by any curve."""
CLEARER: Final = 0.7
"""A better shape leaves at most this share of the variance that the present one leaves."""
SAME: Final = 2e-3
"""Of a period: what rounding leaves; two shapes that both explain so much are the same to us."""
FAR: Final = 1.5
FEW: Final = 5.0
FADES: Final = 0.8
SETTLED_S: Final = 30.0
"""A limit must have stood still so long, since a period is heard as a mean of the iterations before."""
MOVES_EVERY: Final = 20.0
LEAST_PERIOD_S, MOST_PERIOD_S = 0.05, 600.0
_ORDER: Final = np.argsort(curves.STEEPNESS)
_RANK: Final = np.argsort(_ORDER)


class LearnedCurves:
    """Columns over jobs: `shape` (J,) to plan with, `trusted` (J,) where it was learned, `heard` (J,) periods."""

    def __init__(self, rating_w: Floats) -> None:
        jobs = len(rating_w)
        self.prior: Ints = np.where(rating_w <= STEEP_RATING_W, STEEP_SHAPE, 0).astype(np.int64)
        self.shape = self.prior.copy()
        self.trusted: Bools = np.zeros(jobs, dtype=np.bool_)
        self.heard = np.zeros(jobs)
        self.since_move = np.zeros(jobs)
        self.sums = np.zeros((2, curves.SHAPES, jobs))  # of what each shape leaves open, and of its square
        self.told = np.zeros((2, jobs))  # of the log speed by default, and of its square
        self.version = 0

    def hear(self, jobs: Ints, period_s: Floats, ratio: Floats, busy: Ints) -> None:
        """Take iteration periods (n,) of jobs held at `ratio` (at most 1) of their natural draw; `busy`: classes."""
        good = (period_s >= LEAST_PERIOD_S) & (period_s <= MOST_PERIOD_S) & (ratio > 0) & (ratio <= 1)
        jobs, ratio, busy = jobs[good], ratio[good], busy[good]
        log_speed = np.log(curves.speed_of_shapes(ratio, busy))
        left = np.log(period_s[good]) + log_speed
        near = ~self._outlying(jobs, left)
        jobs, left, told = jobs[near], left[:, near], log_speed[0, near]
        keep = 1.0 - 1.0 / MEMORY
        self.heard[jobs] = keep * self.heard[jobs] + 1.0
        self.sums[:, :, jobs] = keep * self.sums[:, :, jobs] + np.stack([left, left * left])
        self.told[:, jobs] = keep * self.told[:, jobs] + np.stack([told, told * told])
        self.since_move[jobs] += 1.0
        self._judge(jobs[(self.heard[jobs] >= ENOUGH) & (self.since_move[jobs] >= MOVES_EVERY)])

    def recall(self, job: int, shape: int, trusted: bool, heard: float, sums: Floats, told: Floats) -> None:
        """What was learned of a job before a restart: `sums` (2, shapes), `told` (2,)."""
        self.shape[job], self.trusted[job], self.heard[job] = shape, trusted, heard
        self.sums[:, :, job], self.told[:, job] = sums, told
        self.version += 1

    def forget(self, jobs: Ints) -> None:
        """Another program, another curve."""
        self.version += 1
        self.shape[jobs], self.trusted[jobs] = self.prior[jobs], False
        self.heard[jobs] = self.since_move[jobs] = 0.0
        self.sums[:, :, jobs], self.told[:, jobs] = 0.0, 0.0

    def _outlying(self, jobs: Ints, left: Floats) -> Bools:
        """Far from what it was by any curve (n,): another period was found, or another phase began.

        Where all that is heard of late is so, what was learned is of another program, and is forgotten.
        """
        heard = self.heard[jobs]
        off = np.abs(left - self.sums[0][:, jobs] / np.maximum(heard, 1.0)).min(axis=0)
        far: Bools = (heard >= FEW) & (off > np.log(FAR))
        if far.any():
            odd = jobs[far]
            for column in (self.heard, self.sums, self.told):
                column[..., odd] *= FADES
            if (gone := odd[self.heard[odd] < FEW]).size:
                self.forget(gone)
        return far

    def _judge(self, jobs: Ints) -> None:
        if not jobs.size:
            return
        heard = self.heard[jobs]
        mean, square = self.sums[:, :, jobs] / heard
        open_ = np.maximum(square - mean**2, 0.0) + SAME**2
        apart = np.sqrt(np.maximum(self.told[1, jobs] / heard - (self.told[0, jobs] / heard) ** 2, 0.0))
        best, now, column = open_.argmin(axis=0), self.shape[jobs], np.arange(len(jobs))
        explained = (apart >= APART) & (open_[best, column] <= NOISE**2)
        self.trusted[jobs[explained]] = True
        moves = explained & (best != now) & (open_[best, column] <= CLEARER * open_[now, column])
        if moves.any():
            step = np.sign(_RANK[best] - _RANK[now])
            self.shape[jobs[moves]] = _ORDER[(_RANK[now] + step)[moves]]
            self.since_move[jobs[moves]] = 0.0
            self.version += 1
