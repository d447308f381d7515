"""Two minutes of every group, slot by slot, with running sums so that any window costs two look-ups.

Watts per GPU. A sample hidden by a limit stands as the remembered peak: what was wanted.
"""

import numpy as np

from easyrider_forecaster.core.arrays import BLOCK_SLOTS, Array, Rowed

SLOTS = 1200
BLOCKS = SLOTS // BLOCK_SLOTS
_MOST = 6e4  # of 16 bits, which hold watts to half a watt: enough to see a wave
LOOK = 600
"""Slots for which single boards are looked at: whether their waves are true."""
_LONG_BLOCKS = 300


class Series(Rowed):
    """One ring of values, the running sum and count at the end of each block, and each block's maximum."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.value = self.column("value", (SLOTS,), np.float32, np.nan)
        self.total = self.column("total", (BLOCKS,), np.float64, 0.0)
        self.number = self.column("number", (BLOCKS,), np.int32, 0)
        self.top = self.column("top", (BLOCKS,), np.float32, -np.inf)

    def append(self, block: int, values: Array) -> None:
        """The block's slots, (rows, 10); gaps add nothing."""
        at, now, before = (block % BLOCKS) * BLOCK_SLOTS, block % BLOCKS, (block - 1) % BLOCKS
        valid = ~np.isnan(values)
        self.value[:, at : at + BLOCK_SLOTS] = values
        self.total[:, now] = self.total[:, before] + np.where(valid, values, 0.0).sum(axis=1)
        self.number[:, now] = self.number[:, before] + valid.sum(axis=1)
        self.top[:, now] = np.where(valid, values, -np.inf).max(axis=1)


class History(Rowed):
    """Rings of all groups; `end` is one past the last closed slot."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.block = -1
        self.demand = Series(rows)
        self.dip = self.column("dip", (SLOTS,), np.bool_, False)  # slots of stalls and checkpoints
        self.hidden = self.column("hidden", (BLOCKS,), np.int16, 0)  # censored slots of each block
        self.limit_w = self.column("limit_w", (BLOCKS,), np.float32, np.nan)
        self.instant = self.column("instant", (LOOK,), np.float16, np.nan)  # one board stands for its group
        self.unlike = self.column("unlike", (LOOK,), np.float16, np.nan)  # variance between boards
        self.seconds = self.column(
            "seconds", (_LONG_BLOCKS,), np.float32, np.nan
        )  # means of demand, for fits
        self.age = self.column("age", (), np.int64, 0)  # blocks since the row was cleared
        self.filled = self.column("filled", (), np.int64, 0)  # valid slots since then

    @property
    def raw(self) -> Series:
        """What was measured; a hidden sample stands as what is believed to have been wanted."""
        return self.demand

    def grow(self, rows: int) -> None:
        """At least `rows` rows."""
        self.demand.grow(rows)
        super().grow(rows)

    def clear(self, row: int) -> None:
        """Forget a group."""
        self.demand.clear(row)
        super().clear(row)

    def append(self, demand: Array, hidden: Array, limit_w: Array, instant: Array, unlike: Array) -> None:
        """One closed block: (rows, 10) arrays and the limit in force at its end."""
        self.block += 1
        at = (self.block % BLOCKS) * BLOCK_SLOTS
        self.demand.append(self.block, demand)
        valid = ~np.isnan(demand)
        self.dip[:, at : at + BLOCK_SLOTS] = False
        self.hidden[:, self.block % BLOCKS] = hidden.sum(axis=1)
        self.limit_w[:, self.block % BLOCKS] = limit_w
        look = at % LOOK
        self.instant[:, look : look + BLOCK_SLOTS] = np.clip(instant, 0.0, _MOST)
        self.unlike[:, look : look + BLOCK_SLOTS] = np.clip(unlike, 0.0, _MOST)
        number = valid.sum(axis=1)
        sums = np.where(valid, demand, 0.0).sum(axis=1)
        self.seconds[:, self.block % _LONG_BLOCKS] = np.where(
            number >= BLOCK_SLOTS // 2, sums / np.maximum(number, 1), np.nan
        )
        self.age += 1
        self.filled += number

    def beat(self, rows: Array, slots: int) -> Array:
        """The last `slots` values outside dips, oldest first, for some rows; NaN before the first there is.

        An iteration stands still in a stall, so what is left fits together: (len(rows), slots).
        """
        values = self.last(self.demand.value, rows, SLOTS)
        dips = self.last(self.dip, rows, SLOTS)
        some = np.flatnonzero(dips.any(axis=1))
        if len(some):
            order = np.argsort(~dips[some], axis=1, kind="stable")
            cut = np.where(dips[some], np.nan, values[some])
            values[some] = np.take_along_axis(cut, order, axis=1)
        return values[:, SLOTS - slots :]

    def calm(self, ring: Array, rows: Array, slots: int) -> Array:
        """The last `slots` values of a ring of floats, NaN within dips."""
        return np.where(self.last(self.dip, rows, slots), np.nan, self.last(ring, rows, slots))

    def new_regime(self, rows: Array, slots: int) -> None:
        """Only the last `slots` count as outside dips from now on."""
        self.dip[rows] = True
        self.dip[rows[:, None], (self.end - 1 - np.arange(slots)) % SLOTS] = False

    def mark_dips(self, in_dip: Array, age: Array, left: Array, quiet: Array) -> None:
        """Which of the last slots belonged to a dip that goes on (`age` slots old) or ended in this block."""
        for row in np.flatnonzero(in_dip).tolist():
            back = np.arange(min(int(age[row]), SLOTS))
            self.dip[row, (self.end - 1 - back) % SLOTS] = True
        for row in np.flatnonzero(np.isfinite(left)).tolist():
            back = np.arange(min(int(quiet[row]), BLOCK_SLOTS), BLOCK_SLOTS)
            self.dip[row, (self.end - 1 - back) % SLOTS] = True

    @property
    def end(self) -> int:
        """One past the last closed slot, counted from the first block."""
        return (self.block + 1) * BLOCK_SLOTS

    def count(self, blocks: int) -> Array:
        """Valid samples among the last `blocks` (fewer than BLOCKS), (rows,)."""
        now = self.block % BLOCKS
        return np.asarray(self.demand.number[:, now] - self.demand.number[:, (now - blocks) % BLOCKS])

    def mean(self, blocks: int) -> Array:
        """Mean of the valid samples among the last `blocks`, NaN where there is none, (rows,)."""
        now, number = self.block % BLOCKS, self.count(blocks)
        total = self.demand.total[:, now] - self.demand.total[:, (now - blocks) % BLOCKS]
        return np.where(number > 0, total / np.maximum(number, 1), np.nan)

    def upto(self, rows: Array, slots: Array) -> tuple[Array, Array]:
        """Running sum and count before `slots` (whole, within the ring), both (len(rows), n) as `slots` is."""
        blocks, inner = slots // BLOCK_SLOTS, slots % BLOCK_SLOTS
        who = rows[:, None]
        at = (blocks[..., None] * BLOCK_SLOTS + np.arange(BLOCK_SLOTS - 1)) % SLOTS
        part = self.demand.value[who[..., None], at]
        valid = ~np.isnan(part) & (np.arange(BLOCK_SLOTS - 1) < inner[..., None])
        before = (blocks - 1) % BLOCKS
        total = self.demand.total[who, before] + np.where(valid, part, 0.0).sum(axis=-1)
        return total, self.demand.number[who, before] + valid.sum(axis=-1)

    def tops(self) -> Array:
        """Running maximum looking back: column k is the maximum of the last k + 1 blocks, 60 columns."""
        recent = self.demand.top[:, (self.block - np.arange(60)) % BLOCKS]
        return np.maximum.accumulate(recent, axis=1)

    def last(self, ring: Array, rows: Array, slots: int) -> Array:
        """The last `slots` values of a ring for some rows, oldest first."""
        at = np.arange(self.end - slots, self.end) % ring.shape[1]
        values = ring[rows[:, None], at]
        return np.asarray(values.astype(np.float32) if values.dtype == np.float16 else values)

    def blocks_back(self, ring: Array, blocks: int) -> Array:
        """The last `blocks` entries of a ring of blocks, newest first, (rows, blocks)."""
        return np.asarray(ring[:, (self.block - np.arange(blocks)) % BLOCKS])

    def last_seconds(self, rows: Array, seconds: int = _LONG_BLOCKS) -> Array:
        """One-second means of demand, oldest first, NaN is a gap or lies before the first, (len(rows), seconds)."""
        order = (self.block + 1 - seconds + np.arange(seconds)) % _LONG_BLOCKS
        return np.asarray(self.seconds[rows[:, None], order], dtype=np.float64)

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
