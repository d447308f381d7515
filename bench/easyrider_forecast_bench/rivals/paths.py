"""From a path of one-second means to the forecasts that are scored; the same rule for every rival that has one."""

from dataclasses import dataclass

import numpy as np

from easyrider_forecast_bench.series import HORIZONS_S, SLOTS, Array, Series

HISTORY_S = 300
"""ETS, ARIMA and their kin fit the one-second means of so long."""
STEPS = HORIZONS_S[-1]
_EXCESS_S = 60
_RUNAWAY = 1.0
"""Outside the board's range by more than its rating is no forecast: the fit diverged."""


@dataclass(frozen=True, slots=True)
class Past:
    """What is known at second `origin_s`: `seconds_w` one-second means, oldest first, and the last 100 ms mean.

    `excess_w` is by how much the highest 100 ms mean of a second lay above the second's mean, in the last minute.
    """

    origin_s: int
    seconds_w: Array
    last_w: float
    excess_w: float
    rating_w: float


def past(series: Series, origin_s: int) -> Past:
    """The past of an origin; nothing from `origin_s` on is looked at."""
    begin = max(0, origin_s - HISTORY_S)
    blocks = series.power_w[begin * SLOTS : origin_s * SLOTS].astype(np.float64).reshape(-1, SLOTS)
    seconds_w = blocks.mean(axis=1)
    excess_w = float((blocks.max(axis=1) - seconds_w)[-_EXCESS_S:].mean())
    return Past(origin_s, seconds_w, float(blocks[-1, -1]), excess_w, series.rating_w)


def usable(path_w: Array | None, rating_w: float) -> bool:
    """Whether it is a forecast at all: finite, and not outside the board's range by more than its rating."""
    if path_w is None or len(path_w) < STEPS or not np.isfinite(path_w).all():
        return False
    return bool(path_w.min() >= -_RUNAWAY * rating_w and path_w.max() <= (1 + _RUNAWAY) * rating_w)


def told(path_w: Array | None, known: Past) -> tuple[Array, Array, bool]:
    """Mean and peak of each horizon, (horizons,), and whether the path was usable; else the last value stands.

    A peak is the largest point of the path plus the usual excess of a second's highest 100 ms over its mean.
    """
    if path_w is None or not usable(path_w, known.rating_w):
        still = np.full(len(HORIZONS_S), known.last_w)
        return still, still.copy(), False
    bounded_w = np.clip(path_w[:STEPS], 0.0, known.rating_w)
    upto = np.asarray(HORIZONS_S) - 1
    mean_w = np.cumsum(bounded_w)[upto] / (upto + 1)
    peak_w = np.minimum(np.maximum.accumulate(bounded_w)[upto] + known.excess_w, known.rating_w)
    return mean_w, peak_w, True
