"""Rival forecasts of every group: plain windows, the level, the season, the shape of an iteration, and events."""

import numpy as np

from easyrider_forecaster.core import phase
from easyrider_forecaster.core.arrays import HORIZONS_S, Array
from easyrider_forecaster.core.dips import Ahead, Dips
from easyrider_forecaster.core.history import SLOTS, History
from easyrider_forecaster.core.pulse import Pulse
from easyrider_forecaster.core.recent import Recent

MEAN_EXPERTS = (
    "last", "mean_1s", "mean_5s", "mean_10s", "mean_30s", "mean_60s", "periods", "season", "level", "template",
    "events", "clean", "changed", "winters", "ar",
)  # fmt: skip
PEAK_EXPERTS = (
    "top_h", "top_10s", "top_30s", "top_60s", "arc", "arc_events", "middle_top", "clean_high", "season",
)  # fmt: skip
PERIODIC = ("periods", "season", "template", "events", "winters")
EVENTFUL = ("events", "clean")
_SECONDS = (1, 5, 10, 30, 60)
_STEPS = np.asarray(HORIZONS_S, np.float64)


def means(
    history: History,
    pulse: Pulse,
    dips: Dips,
    recent: Recent,
    ahead: Ahead,
    level: Array,
    winters: Array,
    regressed: Array,
    still: Array,
) -> Array:
    """All rivals for the mean, (rows, horizons, experts); NaN where one has nothing to say.

    `still` marks rows for which no dip is believed; `level`, `winters`, `regressed` are (rows, horizons).
    """
    rivals = np.full((history.rows, len(HORIZONS_S), len(MEAN_EXPERTS)), np.nan, np.float32)
    newest = history.last(history.demand.value, np.arange(history.rows), 1)
    rivals[:, :, 0] = newest
    for column, seconds in enumerate(_SECONDS, start=1):
        rivals[:, :, column] = history.mean(seconds)[:, None]
    rows = np.flatnonzero(np.isfinite(pulse.period))
    if len(rows):
        whole, season = season_means(history, rows, pulse.period[rows])
        rivals[rows, :, 6], rivals[rows, :, 7] = whole[:, None], season
    rivals[:, :, 8] = level
    total = phase.cumulative(pulse)
    inside_s = np.where(still[:, None], 0.0, ahead.inside_s)
    share = inside_s / _STEPS
    low_w = np.where(pulse.in_dip, history.mean(1), dips.depth_w)
    low_w = np.where(np.isfinite(low_w), low_w, recent.clean_w)[:, None]
    template = phase.run_means(pulse, total, _STEPS)
    rivals[:, :, 9] = template
    run_w = phase.run_means(pulse, total, np.maximum(_STEPS - inside_s, 0.1))
    rivals[:, :, 10] = np.where(share > 0, share * low_w + (1 - share) * run_w, run_w)
    clean_w = np.where(still, np.nan, recent.clean_w)[:, None]
    rivals[:, :, 11] = np.where(share > 0, share * low_w + (1 - share) * clean_w, clean_w)
    rivals[:, :, 12] = recent.changed_w[:, None]
    rivals[:, :, 13] = winters + template - (total[:, -1] + pulse.level_w)[:, None]
    rivals[:, :, 14] = regressed
    return rivals


def peaks(
    history: History,
    pulse: Pulse,
    recent: Recent,
    ahead: Ahead,
    tops: Array,
    arc_bias_w: Array,
    still: Array,
) -> Array:
    """All rivals for the peak, (rows, horizons, experts); `tops` over 1, 2, 5, 10, 30, 60 s, (rows, 6)."""
    rivals = np.full((history.rows, len(HORIZONS_S), len(PEAK_EXPERTS)), np.nan, np.float32)
    rivals[:, :, 0] = tops[:, : len(HORIZONS_S)]
    rivals[:, :, 1:4] = tops[:, None, [3, 4, 5]]
    rivals[rivals == -np.inf] = np.nan
    arc = phase.arc_tops(pulse) + arc_bias_w
    rivals[:, :, 4] = arc
    through = ahead.through & ~still[:, None]
    low_w = history.mean(1)[:, None]
    rivals[:, :, 5] = np.where(through, low_w, arc)
    rivals[:, :, 6] = np.where(through, low_w, recent.middle_top_w[:, None])
    rivals[:, :, 7] = np.where(through, low_w, recent.clean_high_w[:, None])
    rows = np.flatnonzero(np.isfinite(pulse.period))
    if len(rows):
        rivals[rows, :, 8] = season_tops(history, rows, pulse.period[rows])
    return rivals


def season_means(history: History, rows: Array, period: Array) -> tuple[Array, Array]:
    """Mean of whole periods near 10 s, (len(rows),), and of each horizon if the last period repeats."""
    whole = np.maximum(1, np.rint(100.0 / period)) * period
    begins, ends = [whole], [np.zeros(len(rows))]
    parts = []
    for horizon_s in HORIZONS_S:
        slots = 10.0 * horizon_s
        rest = slots - np.floor(slots / period) * period
        begins.append(period)
        ends.append(period - rest)
        parts.append(rest / slots)
    begins.append(period)
    ends.append(np.zeros(len(rows)))
    windows = _windows(history, rows, np.stack(begins, axis=1), np.stack(ends, axis=1))
    share = np.stack(parts, axis=1)
    rest_w = np.where(share * _STEPS * 10.0 < 0.5, windows[:, -1:], windows[:, 1:-1])
    return windows[:, 0], share * rest_w + (1 - share) * windows[:, -1:]


def season_tops(history: History, rows: Array, period: Array) -> Array:
    """Peak within each horizon if the last period repeats, (len(rows), horizons)."""
    tops = history.tops()
    long = np.minimum(np.ceil(period / 10).astype(np.int64), tops.shape[1]) - 1
    forecast = np.repeat(tops[rows, long][:, None], len(HORIZONS_S), axis=1)
    for column, horizon_s in enumerate(HORIZONS_S):
        inside = np.flatnonzero(10 * horizon_s < period)
        if len(inside):
            start = np.rint(history.end - period[inside]).astype(np.int64)
            at = (start[:, None] + np.arange(10 * horizon_s)) % SLOTS
            forecast[inside, column] = np.fmax.reduce(history.demand.value[rows[inside, None], at], axis=1)
    return np.where(np.isfinite(forecast), forecast, np.nan)


def _windows(history: History, rows: Array, begin: Array, end: Array) -> Array:
    """Means between `begin` and `end` slots ago, (len(rows), n); NaN where less than half was measured."""
    first = history.end - np.rint(np.minimum(begin, SLOTS - 20)).astype(np.int64)
    last = history.end - np.rint(np.minimum(end, SLOTS - 20)).astype(np.int64)
    total_to, number_to = history.upto(rows, last)
    total_from, number_from = history.upto(rows, first)
    number = number_to - number_from
    enough = (number > 0.5 * (last - first)) & (begin < SLOTS - 20)
    return np.where(enough, (total_to - total_from) / np.maximum(number, 1), np.nan)
