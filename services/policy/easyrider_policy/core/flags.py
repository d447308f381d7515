"""What boards say of themselves: a power cap slows them. It shows samples as hidden that a sensor reads too low.

A sensor that reads four per cent low shows a board at its limit as one that is free below it. The board knows better,
but it tells once a second and not while it waits for others: what it said holds for some seconds under the same
limit, or samples between two words would pass for peaks, and a job would be planned ever smaller.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

HIDING_SHARE: Final = 0.965
"""A sample above this share of its limit is hidden by it."""
FLAGGED_SHARE: Final = 0.90
"""The same where the boards themselves say that a power cap slows them: their sensors may read low."""
HOLDS_S: Final = 5.0
"""Longer than any phase of communication: a board that waits is flagged again when it computes again."""
SAME_SHARE: Final = 1.01
"""Of the limit that was flagged: under a higher one nothing was said yet."""
_EVERY: Final = slice(None)


class Flags:
    """Columns over jobs: `said_s` (J,) since a board was flagged last, `limit_w` (J,) the limit that it stood at."""

    def __init__(self, jobs: int) -> None:
        self.said_s = np.full(jobs, np.inf)
        self.limit_w = np.zeros(jobs)

    def add(self, flagged: Bools | None, cap_w: Floats, span_s: float) -> None:
        """Jobs (J,) with a flagged board at their limits (J,); None where boards say nothing."""
        self.said_s = self.said_s + span_s
        if flagged is not None and flagged.any():
            self.said_s[flagged] = 0.0
            self.limit_w = np.where(flagged, cap_w, self.limit_w)

    def near_w(self, cap_w: Floats, jobs: Ints | slice = _EVERY) -> Floats:
        """From where on a sample (J,) is hidden by these limits; of these jobs alone, if some are named."""
        holds = (self.said_s[jobs] <= HOLDS_S) & (cap_w <= SAME_SHARE * self.limit_w[jobs])
        return np.where(holds, FLAGGED_SHARE, HIDING_SHARE) * cap_w
