"""Samples of many nodes, each on its own beat, gathered into rows that the planner can take together."""

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.fleet import Bools, Fleet, Floats

MOST_ROWS = 10
POWER_CAP = 0x4 | 0x80
"""NVML's bits for a software power cap and a hardware power brake."""
HEAT = 0x20 | 0x40
"""The same for a slowdown by heat, in software and in hardware."""


class Gathering:
    """Newest 100 ms means of every board since the last `take`, NaN where nothing came. Arrays preallocated."""

    def __init__(self, fleet: Fleet) -> None:
        boards = len(fleet.gpus)
        self._rows = np.full((MOST_ROWS, boards), np.nan)
        self._filled: NDArray[np.int64] = np.zeros(boards, dtype=np.int64)
        self.limit_w: Floats = np.full(boards, np.nan)
        self.capped: Bools = np.zeros(boards, dtype=np.bool_)
        self.hot: Bools = np.zeros(boards, dtype=np.bool_)
        self.temperature_c: Floats = np.full(boards, np.nan)  # as read last
        self.newest_w: Floats = np.full(boards, np.nan)  # means that came since the last `take`

    def carried(self, before: Fleet, fleet: Fleet) -> "Gathering":
        """What boards enforced when last read, for another fleet; means are gathered anew."""
        new = Gathering(fleet)
        index = before.gpu_index
        old = np.array([index.get(uuid, -1) for uuid in fleet.gpus], dtype=np.int64)
        here, there = np.flatnonzero(old >= 0), old[old >= 0]
        new.limit_w[here], new.capped[here] = self.limit_w[there], self.capped[there]
        new.hot[here], new.temperature_c[here] = self.hot[there], self.temperature_c[there]
        return new

    def add(self, boards: NDArray[np.int64], mean_w: Floats, limit_w: Floats) -> None:
        """Rows (k, n) of one node's boards, NaN where invalid; `limit_w` (n,) enforced at the newest row."""
        mean_w = mean_w[-MOST_ROWS:]
        count = len(mean_w)
        have = int(self._filled[boards].max(initial=0))
        keep = min(have, MOST_ROWS - count)
        if keep < have:
            self._rows[:keep, boards] = self._rows[have - keep : have, boards]
        self._rows[keep : keep + count, boards] = mean_w
        self._filled[boards] = keep + count
        self.newest_w[boards] = mean_w[-1]
        self.limit_w[boards] = np.where(np.isnan(limit_w), self.limit_w[boards], limit_w)

    def add_looks(self, boards: NDArray[np.int64], mean_w: Floats, limit_w: Floats) -> None:
        """One row (n,) of boards of several nodes, each of which had one look."""
        have = self._filled[boards]
        if (full := have >= MOST_ROWS).any():
            self._rows[:-1, boards[full]] = self._rows[1:, boards[full]]
            have = np.where(full, MOST_ROWS - 1, have)
        self._rows[have, boards] = mean_w
        self._filled[boards] = have + 1
        self.newest_w[boards] = mean_w
        known = ~np.isnan(limit_w)
        self.limit_w[boards[known]] = limit_w[known]

    def add_reasons(self, boards: NDArray[np.int64], reasons: NDArray[np.uint64]) -> None:
        """What slows these boards (n,), as NVML's bits."""
        self.capped[boards] = (reasons & POWER_CAP) != 0
        self.hot[boards] = (reasons & HEAT) != 0

    def add_temperatures(self, boards: NDArray[np.int64], temperature_c: Floats) -> None:
        """Of these boards (n,), NaN where it was not read."""
        self.temperature_c[boards] = temperature_c

    def take(self) -> Floats:
        """(k, G) rows, k the most any board has and at least 1, the newest of every board in the last row."""
        counts = np.flatnonzero(np.bincount(self._filled)).tolist()  # few, and rarely more than one
        most = max(1, *counts, 0)
        taken = np.full((most, self._rows.shape[1]), np.nan)
        for count in counts:
            if len(counts) == 1:
                taken[most - count :] = self._rows[:count]
            elif count:
                boards = np.flatnonzero(self._filled == count)
                taken[most - count :, boards] = self._rows[:count, boards]
        self._filled[:] = 0
        self.newest_w[:] = np.nan
        return taken
