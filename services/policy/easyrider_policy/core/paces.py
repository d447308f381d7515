"""What limits did to jobs, by their own iterations: how much longer one takes than when nothing held it.

Nothing is foretold here: of a job that was never seen uncapped the slowdown is not known.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FREE: Final = 0.995
"""From this share of its natural draw on a limit holds a job no more."""
ENOUGH: Final = 5.0
"""Periods that must have been heard, uncapped and capped, before one is held against the other."""
_PER_PERIOD: Final = 0.1
_FAR: Final = 3.0
"""Another program, or another phase of it: a period so many times longer or shorter begins a new pace."""


class Paces:
    """Columns over jobs: `free_s` (J,) mean uncapped period, `slow` (J,) slowdown that happened; NaN unknown."""

    def __init__(self, jobs: int) -> None:
        self.free_s = np.full(jobs, np.nan)
        self.free_heard = np.zeros(jobs)
        self.slow = np.full(jobs, np.nan)
        self.slow_heard = np.zeros(jobs)

    def hear(self, jobs: Ints, period_s: Floats, ratio: Floats) -> None:
        """Iteration periods (n,) of jobs under limits that have stood still, at `ratio` of their natural draw."""
        with np.errstate(invalid="ignore", divide="ignore"):
            off = period_s / self.free_s[jobs]
        odd = jobs[(off > _FAR) | (off < 1.0 / _FAR)]
        self.free_s[odd], self.free_heard[odd] = np.nan, 0.0
        self.slow[odd], self.slow_heard[odd] = np.nan, 0.0
        free = ratio >= FREE
        self._follow(self.free_s, self.free_heard, jobs[free], period_s[free])
        self.slow[jobs[free]], self.slow_heard[jobs[free]] = np.nan, 0.0
        capped = ~free & (self.free_heard[jobs] >= ENOUGH)
        rows = jobs[capped]
        self._follow(self.slow, self.slow_heard, rows, 1.0 - self.free_s[rows] / period_s[capped])

    @property
    def happened(self) -> Floats:
        """(J,) slowdown of jobs that a limit holds now, below 0 where they are faster; NaN where it is not known."""
        return np.where(self.slow_heard >= ENOUGH, self.slow, np.nan)

    @staticmethod
    def _follow(mean: Floats, heard: Floats, rows: Ints, value: Floats) -> None:
        share = np.maximum(_PER_PERIOD, 1.0 / (heard[rows] + 1.0))
        before = np.where(np.isnan(mean[rows]), value, mean[rows])
        mean[rows] = before + share * (value - before)
        heard[rows] += 1.0
