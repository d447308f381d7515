"""Samples that a limit hides: they may raise what is believed of a job, never lower it."""

import numpy as np

from easyrider_forecaster.core.arrays import Array, Rowed
from easyrider_forecaster.core.history import History

AT_LIMIT = 0.965
"""A board above this share of the limit in force may have wanted more."""
_LIFTABLE = 0.995
"""A limit within half a per cent of the device's maximum hides nothing that could be lifted."""
_SHARE_OF_BOARDS = 0.25
"""Of a synchronous job, which runs at its slowest board."""
_LOADED = 0.35
"""Share of the device maximum above which a job is taken to be past its set-up (idle and context lie below)."""
_ENOUGH_SLOTS = 120
_PATIENCE_BLOCKS = 60
IDLE_PATIENCE_BLOCKS = 12
"""Boards without a job have no set-up phase to sit out."""


def boards_at_limit(mean_w: Array, limit_w: Array, max_w: Array) -> Array:
    """True where a board's sample is hidden by its limit; (slots, boards)."""
    with np.errstate(invalid="ignore"):
        return (mean_w > AT_LIMIT * limit_w) & (limit_w < _LIFTABLE * max_w)


def hidden(boards_hidden: Array, boards_present: Array) -> Array:
    """True where a group's sample counts as hidden: a quarter of its boards are."""
    return (boards_hidden > 0) & (boards_hidden >= _SHARE_OF_BOARDS * boards_present)


class Ceiling(Rowed):
    """The peak a group shows when nothing holds it: upper quantile (0.995) of 60 s, or its nameplate.

    Starts at the device's maximum, and leaves it once 12 s of loaded samples (or a minute of any) lie
    in a window that no limit touched.
    """

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.peak_w = self.column("peak_w", (), np.float64, np.inf)
        self.observed = self.column("observed", (), np.bool_, False)
        self.loaded = self.column("loaded", (), np.int64, 0)
        self.patience = self.column("patience", (), np.int64, _PATIENCE_BLOCKS)

    def see(self, raw: Array, max_w: Array) -> None:
        """Count loaded samples of one block, (rows, 10)."""
        self.loaded += (raw > _LOADED * max_w[:, None]).sum(axis=1)

    def raise_to(self, history: History) -> None:
        """Anything seen above the ceiling lifts it at once, hidden or not (three slots of 600 may exceed)."""
        top = history.raw.top[:, history.block % history.raw.top.shape[1]]
        above = self.observed & (top > 1.02 * self.peak_w)
        self.peak_w[above] = top[above]

    def learn(self, history: History, rows: Array) -> None:
        """New quantile for some rows; lower only where no sample of the window was hidden."""
        values = history.last(history.demand.value, rows, 600)
        present = ~np.isnan(values)
        number = present.sum(axis=1)
        highest = np.sort(np.partition(np.where(present, values, -np.inf), 596, axis=1)[:, 596:], axis=1)
        back = np.clip(number - np.ceil(0.995 * number).astype(np.int64), 0, 3)
        upper_w, counts = np.full(self.rows, np.nan), np.zeros(self.rows, np.int64)
        upper_w[rows] = highest[np.arange(len(rows)), 3 - back]
        counts[rows] = number
        self.settle(history, rows, upper_w, counts)

    def settle(self, history: History, rows: Array, upper_w: Array, number: Array) -> None:
        """The same, from the upper quantile and the count of samples of the last minute; both (all rows,)."""
        rows = rows[history.age[rows] > 0]
        hidden = history.blocks_back(history.hidden, 60)[rows].sum(axis=1)
        ready = (self.loaded[rows] >= _ENOUGH_SLOTS) | (history.age[rows] >= self.patience[rows])
        free = (hidden == 0) & ready & (number[rows] >= _ENOUGH_SLOTS // 2)
        self.peak_w[rows[free]] = upper_w[rows[free]]
        self.observed[rows[free]] = True
        held = ~free & self.observed[rows] & (number[rows] > 0)
        self.peak_w[rows[held]] = np.fmax(self.peak_w[rows[held]], upper_w[rows[held]])
