"""GPUs and their newest samples, slot by slot, until the block they belong to is closed."""

from dataclasses import dataclass

import numpy as np

from easyrider_forecaster.core.arrays import BLOCK_SLOTS, Array, Rowed

_DEPTH = 8 * BLOCK_SLOTS
_ABSURD = 1.2
"""Samples above this multiple of the device's maximum are no measurement."""
_BITE_SLOTS = 5
"""A raised limit takes up to half a second to let the board go; until then the old one hides its draw."""


@dataclass(frozen=True, slots=True)
class BlockOfBoards:
    """One closed second: (slots, boards); NaN is a gap. `limit_w` is the smallest that may still bite."""

    mean_w: Array
    instant_w: Array
    limit_w: Array


class Boards(Rowed):
    """One row a GPU: range, limit in force, lowest draw seen, and a ring of slots."""

    def __init__(self) -> None:
        super().__init__(0)
        self.row_of: dict[str, int] = {}
        self.node_of: list[str] = []
        self.closed_before = 0
        self.rejected, self.late = 0, 0
        self.max_w = self.column("max_w", (), np.float64, 0.0)
        self.limit_w = self.column("limit_w", (), np.float64, np.nan)
        self.lowest_w = self.column("lowest_w", (), np.float64, np.inf)
        self.joined = self.column("joined", (), np.int64, 0)
        self.group = self.column("group", (), np.int64, -1)
        self._mean = self.column("_mean", (_DEPTH,), np.float32, np.nan)
        self._instant = self.column("_instant", (_DEPTH,), np.float32, np.nan)
        self._limit = self.column("_limit", (_DEPTH,), np.float32, np.nan)

    def find(self, uuids: tuple[str, ...], node: str, max_w: float) -> Array:
        """Rows of these GPUs; those not known yet are added with `max_w` as their device maximum."""
        for uuid in uuids:
            if uuid not in self.row_of:
                self.row_of[uuid] = len(self.node_of)
                self.node_of.append(node)
        if len(self.node_of) > self.rows:
            first = self.rows
            self.grow(len(self.node_of))
            self.max_w[first:] = max_w
        return np.fromiter((self.row_of[uuid] for uuid in uuids), np.int64, len(uuids))

    def put(
        self,
        rows: Array,
        slots: Array,
        span: int,
        mean_w: Array,
        instant_w: Array,
        limit_w: Array,
        *,
        newest: bool = True,
    ) -> None:
        """Samples that end in `slots` and speak for `span` slots each; (samples, boards), NaN where there is none.

        A sample outside [0, 1.2 x device maximum] is counted in `rejected` and stays a gap. The limit in force is
        read from the `newest` samples only.
        """
        if self.closed_before == 0:
            self.begin(int(slots[0]) // BLOCK_SLOTS * BLOCK_SLOTS)
        latest_w = limit_w[-1]
        known = np.isfinite(latest_w)
        if newest:
            self.limit_w[rows[known]] = latest_w[known]
        self.max_w[rows] = np.fmax(self.max_w[rows], latest_w)
        top_w = _ABSURD * self.max_w[rows]
        for values_w in (mean_w, instant_w):
            absurd = ~((values_w >= 0) & (values_w <= top_w)) & ~np.isnan(values_w)
            self.rejected += int(absurd.sum())
            values_w[absurd] = np.nan
        power_w = np.where(np.isnan(mean_w), instant_w, mean_w)
        for back in range(span - 1, -1, -1):
            for sample, slot in enumerate(slots - back):
                if slot < self.closed_before or slot >= self.closed_before + _DEPTH - _BITE_SLOTS:
                    self.late += 1
                    continue
                at = slot % _DEPTH
                self._mean[rows, at] = power_w[sample]
                self._instant[rows, at] = instant_w[sample]
                self._limit[rows, at] = limit_w[sample]

    def begin(self, slot: int) -> None:
        """Slots before `slot` are closed; nothing was kept yet."""
        self.closed_before = slot

    def close(self) -> BlockOfBoards:
        """The block that is due, and room for a new one. Slots before a board joined its group are gaps."""
        slots = self.closed_before + np.arange(BLOCK_SLOTS)
        at = slots % _DEPTH
        early = slots[:, None] < self.joined
        mean_w = np.where(early, np.nan, self._mean[:, at].T).astype(np.float64)
        instant_w = np.where(early, np.nan, self._instant[:, at].T).astype(np.float64)
        limit_w = self._limit[
            :, (self.closed_before - _BITE_SLOTS + np.arange(BLOCK_SLOTS + _BITE_SLOTS)) % _DEPTH
        ].T
        windows = np.lib.stride_tricks.sliding_window_view(limit_w, _BITE_SLOTS + 1, axis=0)
        biting_w = np.fmin.reduce(windows, axis=-1)
        self.lowest_w = np.fmin(self.lowest_w, np.fmin.reduce(mean_w, axis=0))
        spent = (slots - _BITE_SLOTS) % _DEPTH
        for ring in (self._mean, self._instant, self._limit):
            ring[:, spent] = np.nan
        self.closed_before += BLOCK_SLOTS
        return BlockOfBoards(mean_w, instant_w, biting_w)
