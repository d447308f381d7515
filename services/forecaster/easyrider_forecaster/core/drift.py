"""Whether a job became another one: its level moved, or its period did, and what was learned may no longer hold."""

import numpy as np

from easyrider_forecaster.core.arrays import BLOCK_SLOTS, Array, Rowed

_CRITICAL = 1.95
"""Largest excursion of a Brownian bridge passed by chance once in a thousand times (Kolmogorov)."""
_LEAST_SHIFT = 0.05
"""Of the device maximum; smaller moves are what levels do."""
_LENGTHS_S = (3, 5, 10, 20)
_LEAST_MEANS = 6
_DIP = 0.6
"""Means below this share of the median are stalls and checkpoints, no drift."""
_MEDIAN_OF_SQUARES = 0.455
"""Median of a squared standard normal number."""


def moved(values_w: Array, period_s: Array, rating_w: Array) -> tuple[Array, Array]:
    """Whether the level of each row moved for good, and how many seconds before the end: (rows, samples), 10 Hz.

    Means over whole seconds that cover one period (`period_s`, NaN: none) are summed up; the largest excursion of
    the sum is held against its standard deviation, taken from neighbours so that the move itself is not in it.
    Source: CUSUM test for one change of the mean. Gaps are NaN.
    """
    changed, since_s = np.zeros(len(values_w), np.bool_), np.full(len(values_w), np.nan)
    at_least = np.where(np.isfinite(period_s), period_s, 0.0)
    wanted = np.searchsorted(np.asarray(_LENGTHS_S[:-1]), at_least)
    for kind, length_s in enumerate(_LENGTHS_S):
        rows = np.flatnonzero(wanted == kind)
        if len(rows):
            changed[rows], since_s[rows] = _moved(values_w[rows], length_s, rating_w[rows])
    return changed, since_s


def _moved(values_w: Array, length_s: int, rating_w: Array) -> tuple[Array, Array]:
    slots = length_s * BLOCK_SLOTS
    number = values_w.shape[1] // slots
    if number < _LEAST_MEANS:
        return np.zeros(len(values_w), np.bool_), np.full(len(values_w), np.nan)
    cells = values_w[:, values_w.shape[1] - number * slots :].reshape(len(values_w), number, slots)
    present = np.isfinite(cells) & (np.abs(cells) <= 2.0 * rating_w[:, None, None])
    count = present.sum(axis=2)
    means = np.where(present, cells, 0.0).sum(axis=2, dtype=np.float64) / np.maximum(count, 1)
    heard = count >= slots // 2
    means[~heard] = np.nan
    usual = _median(means)
    low = heard & (means < _DIP * usual[:, None])
    near_low = low.copy()  # a dip begins and ends within a mean
    near_low[:, 1:] |= low[:, :-1]
    near_low[:, :-1] |= low[:, 1:]
    used = heard & ~near_low
    means[~used] = np.nan
    total = used.sum(axis=1)
    centre = np.where(used, means, 0.0).sum(axis=1) / np.maximum(total, 1)
    path = np.cumsum(np.where(used, means - centre[:, None], 0.0), axis=1)
    at = np.abs(path).argmax(axis=1)
    steps = np.diff(means, axis=1)
    variance = _median(steps**2) / (2 * _MEDIAN_OF_SQUARES)
    rows = np.arange(len(values_w))
    before = np.cumsum(used, axis=1)[rows, at]
    after = total - before
    shift_w = np.abs(path[rows, at]) * total / np.maximum(before * after, 1)
    spread_w = np.sqrt(np.where(np.isfinite(variance), variance, np.inf))
    excursion = np.abs(path[rows, at]) / np.maximum(spread_w * np.sqrt(np.maximum(total, 1)), 1e-9)
    changed = (
        (total >= _LEAST_MEANS)
        & (np.minimum(before, after) >= 2)
        & (excursion > _CRITICAL)
        & (shift_w > _LEAST_SHIFT * rating_w)
    )
    return changed, np.where(changed, (number - 1.0 - at) * length_s, np.nan)


def _median(values: Array) -> Array:
    """Row medians without NaN; NaN where there is nothing."""
    ordered = np.sort(values, axis=1)
    last = np.maximum(np.isfinite(values).sum(axis=1) - 1, 0)
    rows = np.arange(len(values))
    return np.asarray(0.5 * (ordered[rows, last // 2] + ordered[rows, (last + 1) // 2]))


class Drift(Rowed):
    """When each row last became another one."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.changed_at = self.column("changed_at", (), np.float64, -np.inf)
        self.by_period = self.column("by_period", (), np.bool_, False)

    def level(self, rows: Array, changed: Array, since_s: Array, now_s: float) -> None:
        """What `moved` found; the newest change counts."""
        found = rows[changed]
        at_s = now_s - since_s[changed]
        newer = at_s > self.changed_at[found] + 1.0
        self.changed_at[found[newer]] = at_s[newer]
        self.by_period[found[newer]] = False

    def period(self, rows: Array, now_s: float) -> None:
        """Periods that were believed and are now others."""
        self.changed_at[rows], self.by_period[rows] = now_s, True

    def age_s(self, now_s: float) -> Array:
        """Seconds since the last change; infinite where there was none, (rows,)."""
        return np.asarray(now_s - self.changed_at)
