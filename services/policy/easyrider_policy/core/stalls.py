"""Jobs that wait for a disk or a start: their watts can be lent, and they must wake at once.

A job that draws less than half of its peak for 4 s, longer than any phase of communication, is stalled. It
counts as its own draw and its limit falls to 1.25 times that; when its draw is pinned at that limit, or
rises over half of its peak, it is awake.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

LOW_SHARE: Final = 0.5
AWAKE_SHARE: Final = 0.55
BELOW_LIMIT: Final = 0.9
AFTER_S: Final = 4.0
CAP_PER_DRAW: Final = 1.25
_LONG_AGO: Final = -1e9


class Stalls:
    """Columns over jobs: `stalled`, `low_s` (how long the draw has been low), `woke_s` (when it last woke)."""

    def __init__(self, jobs: int) -> None:
        self.stalled = np.zeros(jobs, dtype=np.bool_)
        self.low_s = np.zeros(jobs)
        self.woke_s = np.full(jobs, _LONG_AGO)

    def add(
        self, now_s: float, sample_w: Floats, pinned: Bools, peak_w: Floats, limit_w: Floats, step_s: float
    ) -> Ints:
        """Take samples (k, J), NaN where missing, and whether they stand at the limit; the jobs that woke."""
        # A job held far below its peak draws little too, but all that it may.
        low = sample_w < np.minimum(LOW_SHARE * peak_w, BELOW_LIMIT * limit_w)
        low_at_end = low.all(axis=0)
        span = len(sample_w) * step_s
        # A missing sample is not low: comparison with NaN is false, so a gap ends a stall's counting.
        self.low_s = np.where(low_at_end, self.low_s + span, 0.0)
        last = sample_w[-1]
        awake = self.stalled & (pinned[-1] | (last > AWAKE_SHARE * peak_w))
        self.stalled |= self.low_s >= AFTER_S - 1e-9
        self.stalled &= ~awake
        woken = np.flatnonzero(awake)
        self.woke_s[woken] = now_s
        self.low_s[woken] = 0.0
        return woken

    def wake(self, job: int, now_s: float) -> None:
        """A forecast or a phase mark says that this job is about to draw again."""
        if self.stalled[job]:
            self.stalled[job] = False
            self.low_s[job] = 0.0
            self.woke_s[job] = now_s
