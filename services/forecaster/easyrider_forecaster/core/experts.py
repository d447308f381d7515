"""Rival forecasts of every group: plain windows, the level, and the season where a period is known."""

import numpy as np

from easyrider_forecaster.core.arrays import HORIZONS_S, Array
from easyrider_forecaster.core.history import SLOTS, History, Series

MEAN_EXPERTS = ("last", "mean_1s", "mean_5s", "mean_10s", "mean_30s", "mean_60s", "level", "season")
PEAK_EXPERTS = ("top_h", "top_10s", "top_30s", "top_60s", "season")
_WINDOWS = (1, 10, 50, 100, 300, 600)
_SEASONS = 3
"""Past periods that are averaged: more blur, since jitter adds up."""


def window_means(history: History, series: Series) -> Array:
    """Means over the last 0.1, 1, 5, 10, 30, 60 s, (rows, 6); NaN where nothing was measured in it."""
    return np.stack([history.mean(series, slots) for slots in _WINDOWS], axis=1)


def season_means(history: History, series: Series, rows: Array, period: Array) -> Array:
    """Mean over each horizon if the last whole periods repeat, (len(rows), horizons).

    `period` in slots, one a row. Whole periods count with their mean, the rest with the mean of the
    same phase in the last three periods. NaN where a window lies before the first sample.
    """
    forecast = np.empty((len(rows), len(HORIZONS_S)))
    whole_periods = np.maximum(1, np.rint(100.0 / period)) * period
    whole = _window(history, series, rows, whole_periods, np.zeros(len(rows)))
    for column, horizon_s in enumerate(HORIZONS_S):
        slots = 10.0 * horizon_s
        rest = slots - np.floor(slots / period) * period
        parts = [
            _window(history, series, rows, number * period, number * period - rest)
            for number in range(1, _SEASONS + 1)
        ]
        with np.errstate(invalid="ignore"):
            part = np.where(rest < 0.5, whole, np.mean(parts, axis=0))
        forecast[:, column] = ((slots - rest) * whole + rest * part) / slots
    return forecast


def season_tops(history: History, series: Series, rows: Array, period: Array, tops: Array) -> Array:
    """Peak within each horizon if the last three periods repeat, (len(rows), horizons)."""
    long = np.minimum(np.ceil(_SEASONS * period / 10).astype(np.int64), tops.shape[1]) - 1
    anywhere = tops[rows, long]
    forecast = np.empty((len(rows), len(HORIZONS_S)))
    for column, horizon_s in enumerate(HORIZONS_S):
        slots = 10 * horizon_s
        inside = slots < period
        forecast[:, column] = anywhere
        if inside.any():
            some, lag = rows[inside], period[inside]
            starts = np.rint(history.end - np.arange(1, _SEASONS + 1) * lag[:, None]).astype(np.int64)
            at = (starts[:, :, None] + np.arange(slots)) % SLOTS
            values = series.value[some[:, None, None], at]
            forecast[inside, column] = np.fmax.reduce(values.reshape(len(some), -1), axis=1)
    return forecast


def mean_forecasts(windows: Array, level: Array, season: Array, floor_w: Array, top_w: Array) -> Array:
    """All rivals for the mean, (rows, horizons, experts), each within [floor, top]."""
    rows, horizons = level.shape
    rivals = np.empty((rows, horizons, len(MEAN_EXPERTS)))
    rivals[:, :, :6] = windows[:, None, :]
    rivals[:, :, 6], rivals[:, :, 7] = level, season
    return np.asarray(np.clip(rivals, floor_w[:, None, None], top_w[:, None, None]))


def peak_forecasts(tops: Array, season: Array, floor_w: Array, top_w: Array) -> Array:
    """All rivals for the peak, (rows, horizons, experts), each within [floor, top]."""
    rivals = np.empty((len(tops), len(HORIZONS_S), len(PEAK_EXPERTS)))
    rivals[:, :, 0] = tops[:, np.asarray(HORIZONS_S) - 1]
    rivals[:, :, 1:4] = tops[:, None, [9, 29, 59]]
    rivals[:, :, 4] = season
    rivals[np.isneginf(rivals)] = np.nan
    return np.asarray(np.clip(rivals, floor_w[:, None, None], top_w[:, None, None]))


def _window(history: History, series: Series, rows: Array, begin: Array, end: Array) -> Array:
    """Mean between `begin` and `end` slots ago (fractions allowed), NaN where less than half was measured."""
    number = _at(history, history.present, rows, end) - _at(history, history.present, rows, begin)
    total = _at(history, series.total, rows, end) - _at(history, series.total, rows, begin)
    enough = (number > 0.5 * (begin - end)) & (begin < SLOTS - 2)
    return np.where(enough, total / np.where(number > 0, number, 1.0), np.nan)


def _at(history: History, ring: Array, rows: Array, ago: Array) -> Array:
    """A running sum as it stood `ago` slots before the end, between slots by the straight line."""
    whole = np.floor(ago).astype(np.int64)
    share = ago - whole
    newer = ring[rows, (history.end - 1 - whole) % SLOTS]
    older = ring[rows, (history.end - 2 - whole) % SLOTS]
    return np.asarray(newer - share * (newer - older), dtype=np.float64)
