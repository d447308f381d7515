"""The natural draw of each job, found although a limit may hide it.

A sample near the limit is *hidden*: the job would have drawn more, nobody knows how much. Peaks are read from
free samples alone: the third highest of a minute (its 0.995 quantile). They count once they stand above
every limit that hid samples in that minute; until then the last known peak stays, at least the hiding limit.
A job whose full load was never seen free counts at its fingerprint, else at the device maximum.

A job has phases. A lower peak is believed only while it is seen, not because something higher has become old;
and a job that limits have hidden for a minute may be in any phase: it counts as the highest ever seen of it.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

BLOCK: Final = 50
"""Samples a block: 5 s."""
BLOCKS: Final = 12
KEPT: Final = 3
ENOUGH: Final = 120
"""Samples before a peak is believed: 12 s."""
HELD: Final = 10
"""Samples that a level must hold before it is a peak: a job on its way up passes many."""
LEVEL_SHARE: Final = 0.9
CLEAR_OF_CAP: Final = 1.04
FULL_SHARE: Final = 0.5
"""Of the device maximum: less may be a set-up."""
_STILL: Final = 0.01


class Peaks:
    """Columns over jobs. `peak_w` (J,) is what to plan with, `known` (J,) whether it was seen or told."""

    def __init__(self, nameplate_w: Floats, told_w: Floats) -> None:
        jobs = len(nameplate_w)
        self.nameplate_w = nameplate_w
        self.known = np.isfinite(told_w)
        self.peak_w = np.where(self.known, np.minimum(told_w, nameplate_w), nameplate_w)
        self.free_top_w = np.zeros((BLOCKS, KEPT, jobs))
        self.hiding_w = np.zeros((BLOCKS, jobs))
        self.counts = np.zeros((BLOCKS, jobs))
        self.hid = np.zeros((BLOCKS, jobs), dtype=np.bool_)  # some sample of the block was hidden
        self.high_w = np.where(self.known, self.peak_w, 0.0)  # the most ever seen, free or pinned
        self.level_w = np.zeros(jobs)  # highest free level of late, and for how many samples it was held
        self.held: Ints = np.zeros(jobs, dtype=np.int64)
        self.block, self.filled = 0, 0
        self._others: tuple[Floats, Floats, Floats] | None = None  # of the blocks that are closed

    def add(self, sample_w: Floats, hidden: Bools, pinned: Bools, limit_w: Floats) -> None:
        """Take samples (k, J), NaN where missing; `hidden` ones prove no peak, `pinned` ones stand at `limit_w`."""
        missing = np.isnan(sample_w)
        free = np.where(hidden | missing, 0.0, sample_w)
        self._hold(free)
        self.free_top_w[self.block] = _highest(np.concatenate([self.free_top_w[self.block], free]))
        self.counts[self.block] += len(sample_w) - missing.sum(axis=0)
        self.high_w = np.maximum(self.high_w, self.free_top_w[self.block, 0])
        if hidden.any():
            self.hid[self.block] |= hidden.any(axis=0)
        if pinned.any():
            here = self.hiding_w[self.block]
            np.maximum(here, np.where(pinned.any(axis=0), limit_w, 0.0), out=here)
            seen_w = np.where(pinned, np.fmin(sample_w, limit_w), 0.0).max(axis=0)
            self.high_w = np.maximum(self.high_w, seen_w)
        self._settle()
        self.filled += len(sample_w)
        if self.filled >= BLOCK:
            self.filled, self.block, self._others = 0, (self.block + 1) % BLOCKS, None
            for column in (self.free_top_w, self.hiding_w, self.counts, self.hid):
                column[self.block] = 0

    def _hold(self, free: Floats) -> None:
        top_w = free.max(axis=0)
        higher = top_w > self.level_w / LEVEL_SHARE
        self.level_w = np.where(higher, top_w, self.level_w)
        self.held = np.where(higher, 0, self.held) + (free > LEVEL_SHARE * self.level_w).sum(axis=0)

    def _settle(self) -> None:
        tops_w, counts, hiding_w = self._closed()
        seen = counts + self.counts[self.block]
        third, second, first = _highest(np.concatenate([tops_w, self.free_top_w[self.block]]))
        free_w = np.where(seen >= 500, third, np.where(seen >= 300, second, first))
        cap_w = np.maximum(hiding_w, self.hiding_w[self.block])
        clear = (free_w > CLEAR_OF_CAP * cap_w) & (seen >= ENOUGH)
        # Without a time at full load a setting-up job would pass for a small one.
        full = self.known | (free_w > FULL_SHARE * self.nameplate_w)
        # The newest whole block was free and of this level, or the peak only rises.
        shown = ~self.hid[self.block - 1] & ~self.hid[self.block]
        # What was highest is gone from the minute: the rest of it was seen for long.
        fallen = free_w < LEVEL_SHARE * self.level_w
        self.level_w = np.where(fallen, free_w, self.level_w)
        self.held = np.where(fallen, BLOCK, self.held)
        believed = clear & full & (self.held >= HELD) & (shown | (free_w > self.peak_w))
        hidden_w = np.maximum(self.peak_w, np.maximum(cap_w, free_w))
        if self.hid.any():
            lost = self.known & (self.hid | (self.counts == 0)).all(axis=0) & self.hid.any(axis=0)
            hidden_w = np.where(lost, np.maximum(hidden_w, self.high_w), hidden_w)
        wanted = np.where(believed, free_w, np.where(self.known, hidden_w, self.peak_w))
        wanted = np.minimum(wanted, self.nameplate_w)
        moved = np.abs(wanted - self.peak_w) > _STILL * self.peak_w
        self.peak_w = np.where(moved, wanted, self.peak_w)
        self.known |= believed

    def _closed(self) -> tuple[Floats, Floats, Floats]:
        """Highest free samples (KEPT, J), counts (J,) and hiding limits (J,) of every block but the present one.

        They stand still for 5 s: to rank a minute of samples ten times a second would take most of the time here.
        """
        if self._others is None:
            closed = np.arange(BLOCKS) != self.block
            tops_w = self.free_top_w[closed].reshape(-1, self.free_top_w.shape[2])
            counts, hiding_w = self.counts[closed].sum(axis=0), self.hiding_w[closed].max(axis=0)
            self._others = _highest(tops_w), counts, hiding_w
        return self._others

    def carry(self, old: "Peaks") -> None:
        """Go on where another one stood in its minute, whose columns have been taken over."""
        self.block, self.filled, self._others = old.block, old.filled, None

    def shows(self, job: int, peak_w: float) -> bool:
        """Whether so much can be a peak: clear of every limit that hid samples, and a full load."""
        cap_w = float(self.hiding_w[:, job].max())
        return peak_w > max(CLEAR_OF_CAP * cap_w, FULL_SHARE * float(self.nameplate_w[job]))

    def tell(self, job: int, peak_w: float) -> None:
        """A peak from elsewhere in place of the nameplate; what is seen free will correct it."""
        self.peak_w[job] = min(peak_w, float(self.nameplate_w[job]))
        self.known[job] = True


def _highest(samples_w: Floats) -> Floats:
    """The `KEPT` highest (KEPT, J) of samples (k, J), in rising order.

    Few rows are put in order by swaps of whole rows: a partition down columns takes ten times as long.
    """
    if len(samples_w) > 4 * KEPT:
        places = tuple(range(len(samples_w) - KEPT, len(samples_w)))
        return np.asarray(np.partition(samples_w, places, axis=0)[-KEPT:], dtype=np.float64)
    rows = list(samples_w)
    for place in range(len(rows) - 1, len(rows) - 1 - KEPT, -1):
        for at in range(place):
            low, rows[place] = np.minimum(rows[at], rows[place]), np.maximum(rows[at], rows[place])
            rows[at] = low
    return np.array(rows[-KEPT:])
