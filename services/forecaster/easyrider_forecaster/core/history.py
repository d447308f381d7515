"""Two minutes of every group, slot by slot, with running sums so that any window costs two look-ups.

Watts per GPU. `raw` is what was measured, `demand` has samples hidden by a limit replaced by the remembered
peak, `draw` is the demand seen through the present limit.
"""

import numpy as np

from easyrider_forecaster.core.arrays import BLOCK_SLOTS, Array, Rowed

SLOTS = 1200
BLOCKS = SLOTS // BLOCK_SLOTS
_LONG_BLOCKS = 300


class Series(Rowed):
    """One ring of values with cumulative sums (gaps add nothing) and the maximum of each block."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.value = self.column("value", (SLOTS,), np.float32, np.nan)
        self.total = self.column("total", (SLOTS,), np.float64, 0.0)
        self.top = self.column("top", (BLOCKS,), np.float32, -np.inf)

    def append(self, block: int, values: Array) -> None:
        """The block's slots, (rows, 10)."""
        at = (block % BLOCKS) * BLOCK_SLOTS
        before = self.total[:, (at - 1) % SLOTS]
        self.value[:, at : at + BLOCK_SLOTS] = values
        self.total[:, at : at + BLOCK_SLOTS] = before[:, None] + np.cumsum(np.nan_to_num(values), axis=1)
        self.top[:, block % BLOCKS] = np.fmax.reduce(np.where(np.isnan(values), -np.inf, values), axis=1)

    def rewrite(self, rows: Array, values: Array, block: int) -> None:
        """Other values for the whole ring of some rows, (len(rows), SLOTS) in ring order."""
        turn = np.roll(np.arange(SLOTS), -((block + 1) % BLOCKS) * BLOCK_SLOTS)
        self.value[rows] = values
        sums = np.empty(values.shape)
        sums[:, turn] = np.cumsum(np.nan_to_num(values)[:, turn], axis=1)
        self.total[rows] = sums
        blocks = np.where(np.isnan(values), -np.inf, values).reshape(len(rows), BLOCKS, BLOCK_SLOTS)
        self.top[rows] = blocks.max(axis=2)


class History(Rowed):
    """Rings of all groups; `end` is one past the last closed slot."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.block = -1
        self.raw, self.demand, self.draw = Series(rows), Series(rows), Series(rows)
        self.present = self.column("present", (SLOTS,), np.int32, 0)  # running count of valid slots
        self.hidden = self.column("hidden", (BLOCKS,), np.int16, 0)  # censored slots of each block
        self.limit_w = self.column("limit_w", (BLOCKS,), np.float32, np.nan)
        self.instant = self.column("instant", (SLOTS,), np.float32, np.nan)  # one board stands for its group
        self.unlike = self.column("unlike", (SLOTS,), np.float32, np.nan)  # variance between boards
        self.seconds = self.column(
            "seconds", (_LONG_BLOCKS,), np.float32, np.nan
        )  # means of demand, for fits
        self.age = self.column("age", (), np.int64, 0)  # blocks since the row was cleared
        self.filled = self.column("filled", (), np.int64, 0)  # valid slots since then

    def grow(self, rows: int) -> None:
        """At least `rows` rows."""
        for series in (self.raw, self.demand, self.draw):
            series.grow(rows)
        super().grow(rows)

    def clear(self, row: int) -> None:
        """Forget a group."""
        for series in (self.raw, self.demand, self.draw):
            series.clear(row)
        super().clear(row)

    def append(
        self, raw: Array, demand: Array, hidden: Array, limit_w: Array, instant: Array, unlike: Array
    ) -> Array:
        """One closed block: (rows, 10) arrays and the limit in force at its end. Rows whose limit moved."""
        self.block += 1
        at = (self.block % BLOCKS) * BLOCK_SLOTS
        before = self.limit_w[:, (self.block - 1) % BLOCKS]
        moved = np.isfinite(limit_w) & np.isfinite(before) & (np.abs(limit_w - before) > 0.5)
        self.raw.append(self.block, raw)
        self.demand.append(self.block, demand)
        self.draw.append(self.block, np.minimum(raw, limit_w[:, None]))
        valid = ~np.isnan(raw)
        counted = self.present[:, (at - 1) % SLOTS]
        self.present[:, at : at + BLOCK_SLOTS] = counted[:, None] + np.cumsum(valid, axis=1)
        self.hidden[:, self.block % BLOCKS] = hidden.sum(axis=1)
        self.limit_w[:, self.block % BLOCKS] = limit_w
        self.instant[:, at : at + BLOCK_SLOTS] = instant
        self.unlike[:, at : at + BLOCK_SLOTS] = unlike
        number = valid.sum(axis=1)
        sums = np.nan_to_num(demand).sum(axis=1)
        self.seconds[:, self.block % _LONG_BLOCKS] = np.where(
            number >= BLOCK_SLOTS // 2, sums / np.maximum(number, 1), np.nan
        )
        self.age += 1
        self.filled += number
        rows = np.flatnonzero(moved)
        if len(rows):
            self.draw.rewrite(rows, np.minimum(self.demand.value[rows], limit_w[rows, None]), self.block)
        return rows

    @property
    def end(self) -> int:
        """One past the last closed slot, counted from the first block."""
        return (self.block + 1) * BLOCK_SLOTS

    def count(self, slots: int) -> Array:
        """Valid samples among the last `slots` (fewer than SLOTS), (rows,)."""
        last = (self.end - 1) % SLOTS
        return np.asarray(self.present[:, last] - self.present[:, (last - slots) % SLOTS])

    def mean(self, series: Series, slots: int) -> Array:
        """Mean of the valid samples among the last `slots`, NaN where there is none, (rows,)."""
        last = (self.end - 1) % SLOTS
        number = self.count(slots)
        total = series.total[:, last] - series.total[:, (last - slots) % SLOTS]
        return np.where(number > 0, total / np.maximum(number, 1), np.nan)

    def tops(self, series: Series) -> Array:
        """Running maximum looking back: column k is the maximum of the last k + 1 blocks, 60 columns."""
        recent = series.top[:, (self.block - np.arange(60)) % BLOCKS]
        return np.maximum.accumulate(recent, axis=1)

    def last(self, ring: Array, rows: Array, slots: int) -> Array:
        """The last `slots` values of a ring for some rows, oldest first."""
        at = np.arange(self.end - slots, self.end) % SLOTS
        return np.asarray(ring[rows[:, None], at])

    def blocks_back(self, ring: Array, blocks: int) -> Array:
        """The last `blocks` entries of a ring of blocks, newest first, (rows, blocks)."""
        return np.asarray(ring[:, (self.block - np.arange(blocks)) % BLOCKS])

    def gap_free_tail(self, row: int) -> Array:
        """The latest run of at least 40 seconds without a gap (one-second means of demand), or fewer values."""
        order = (self.block + 1 + np.arange(_LONG_BLOCKS)) % _LONG_BLOCKS
        means = self.seconds[row, order][-min(int(self.age[row]), _LONG_BLOCKS) :]
        gaps = np.flatnonzero(np.isnan(means))
        edges = np.concatenate(([-1], gaps, [len(means)]))
        lengths = np.diff(edges) - 1
        long_enough = np.flatnonzero(lengths >= 40)
        run = int(long_enough[-1]) if len(long_enough) else int(np.argmax(lengths))
        return np.asarray(means[edges[run] + 1 : edges[run + 1]], dtype=np.float64)
