"""Which share of its time a job computes at full draw, as if it were not limited.

Waiting is what happens within an iteration. A longer stretch below full draw is another phase (set-up, a
checkpoint, sleep, lighter work) and is left out: a job that wakes is as busy as it was before, and not as idle
as it has just been.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core import curves

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

SAMPLES: Final = 600
NEAR_PEAK: Final = 0.8
LONGEST_WAIT: Final = 40
"""Samples: 4 s, longer than any phase of communication."""
ENOUGH: Final = 120
_STILL: Final = 0.8 / (curves.BUSY_CLASSES - 1)


class Busy:
    """A ring of a minute of 100 ms means per job; `share` (J,) and its `classes`, all busy until 12 s are seen."""

    def __init__(self, jobs: int) -> None:
        self.ring = np.full((SAMPLES, jobs), np.nan, dtype=np.float32)
        self.at = 0
        self.off: Ints = np.zeros(jobs, dtype=np.int64)  # samples in a row that were not near the peak
        self.share = np.ones(jobs)
        self.classes: Ints = np.full(jobs, curves.BUSY_CLASSES - 1, dtype=np.int64)

    def add(self, sample_w: Floats, hidden: Bools, peak_w: Floats) -> None:
        """Take samples (k, J), NaN where missing; hidden ones count as full draw."""
        count = len(sample_w)
        begin, self.at = self.at, (self.at + count) % SAMPLES
        near = (hidden | (sample_w > NEAR_PEAK * peak_w)).any(axis=0)
        before, self.off = self.off, np.where(near, 0, self.off + count)
        other = self.off >= LONGEST_WAIT
        seen = np.where(other, np.nan, np.where(hidden, np.inf, sample_w))
        if begin + count <= SAMPLES:
            self.ring[begin : begin + count] = seen
        else:
            self.ring[(begin + np.arange(count)) % SAMPLES] = seen
        turned = np.flatnonzero(other & (before < LONGEST_WAIT))
        if len(turned):
            rows = (self.at - 1 - np.arange(int(self.off[turned].max()))) % SAMPLES
            self.ring[np.ix_(rows, turned)] = np.nan

    def settle(self, peak_w: Floats, limit_w: Floats) -> None:
        """Work the shares out anew; a limit below the peak stretches computing, which is undone."""
        seen = np.isfinite(self.ring) | (self.ring == np.inf)
        count = seen.sum(axis=0)
        near = (self.ring > (NEAR_PEAK * peak_w).astype(np.float32)).sum(axis=0)
        raw = near / np.maximum(count, 1)
        natural = curves.natural_busy(raw, np.minimum(1.0, limit_w / peak_w))
        natural = np.where(count >= ENOUGH, natural, self.share)
        moved = np.abs(natural - self.share) > _STILL
        if moved.any():
            self.share = np.where(moved, natural, self.share)
            self.classes = curves.busy_class(self.share)
