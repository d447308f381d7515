"""How far boards draw above their limit while it binds.

Learned from means of the energy counter, slowly once some seconds are known, and only where the limit has
stood still and hid every sample. A board's own sensor cannot tell overshoot from its gain error (some per
cent), so no more than 3 % is believed and never less than none: a sensor that reads low must not earn its
board watts.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MOST: Final = 1.03
"""What may be drawn per watt of limit, in every sum of what could be: no card's own sensor proves less
(shared/decisions/0030)."""
PLAUSIBLE: Final = (0.90, 1.10)
_PER_S: Final = 0.05
_STILL: Final = 0.003


class Overshoot:
    """`ratio` (G,): draw per watt of limit, raw and slow; `counted` (G,): 1-1.03, moves in steps."""

    def __init__(self, boards: int) -> None:
        self.ratio = np.ones(boards)
        self.counted = np.ones(boards)
        self.learned_s = np.zeros(boards)  # how long each board was watched while bound
        self.version = 0

    def add(self, mean_w: Floats, limit_w: Floats, bound: Bools, span_s: float) -> None:
        """Take means (G,) over `span_s` of boards; `bound` (G,): held by a limit that stood still."""
        seen = np.where(limit_w > 0, mean_w / np.where(limit_w > 0, limit_w, 1.0), np.nan)
        good = bound & (seen > PLAUSIBLE[0]) & (seen < PLAUSIBLE[1])
        if not good.any():
            return
        # The plain mean of what was seen, until it is as slow as it may become: no board waits to be known.
        self.learned_s[good] += span_s
        share = np.minimum(1.0, np.maximum(_PER_S * span_s, span_s / self.learned_s[good]))
        self.ratio[good] += share * (seen[good] - self.ratio[good])
        wanted = np.minimum(np.maximum(self.ratio, 1.0), MOST)
        moved = np.abs(wanted - self.counted) > _STILL
        if moved.any():
            self.counted[moved] = wanted[moved]
            self.version += 1

    def recall(self, row: int, ratio: float, learned_s: float) -> None:
        """A board's ratio from before a restart. It counts as none at least, and gives way as it was slow to."""
        self.ratio[row], self.learned_s[row] = ratio, min(learned_s, 1.0 / _PER_S)
        self.counted[row] = min(max(ratio, 1.0), MOST)
        self.version += 1
