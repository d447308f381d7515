"""What domains drew beside what was reckoned of the limits held: how far a plan's sums may be believed.

Sums of single jobs err together: their highest means never meet, gain errors cancel, limits are not used to the watt.
So the mean of ten seconds that was drawn is held against the mean reckoned for the same seconds: joint samples, and
what they stay below is the credit of many jobs that do not peak together, 3 % at most. The share rises at once and
falls slowly, and begins above 1: a margin, earned back by seconds that kept within what was reckoned.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WINDOW_S: Final = 10
DOUBT: Final = 1.01
"""Until seconds have shown otherwise, so much more may be drawn than is reckoned."""
LEAST: Final = 0.97
FALLS_PER_S: Final = 0.0004
NEAR_S: Final = 30.0
_ABOVE: Final = 0.001
_FALLS_BY: Final = 0.003
"""Steady load is noisy by less, and moves nothing."""


class Reckoning:
    """`share` (D,): highest drawn over reckoned of late, and a little more."""

    def __init__(self, domains: int) -> None:
        self.share = np.full(domains, DOUBT)
        self.highest = np.full(domains, DOUBT)
        self._drawn_w = np.zeros((WINDOW_S, domains))
        self._reckoned_w = np.full((WINDOW_S, domains), np.nan)
        self._row = 0

    def add_second(self, drawn_w: Floats, reckoned_w: Floats) -> None:
        """Take what was drawn (D,) on the mean of one second, and what was reckoned for it; NaN where nothing was."""
        self._drawn_w[self._row], self._reckoned_w[self._row] = drawn_w, reckoned_w
        self._row = (self._row + 1) % WINDOW_S
        total_w = self._reckoned_w.sum(axis=0)
        known = total_w > 0  # not of a window with a gap
        ratio = self._drawn_w.sum(axis=0) / np.where(known, total_w, 1.0)
        # In proportion near it, so that the highest of noise stays: a peak that comes again must move nothing.
        falls = np.minimum(FALLS_PER_S, (self.highest - ratio) / NEAR_S)
        fallen = np.maximum(ratio, self.highest - np.maximum(falls, 0.0))
        self.highest = np.where(known, np.clip(fallen, LEAST, DOUBT), self.highest)
        moves = (self.highest > self.share) | (self.highest < self.share - _FALLS_BY)
        self.share = np.where(moves, np.minimum(self.highest + _ABOVE, DOUBT), self.share)
