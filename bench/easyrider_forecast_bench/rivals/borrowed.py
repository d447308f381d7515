"""Periods by the product's own detector, lent to rivals that need one: a season is as good as its detector."""

import numpy as np

from easyrider_forecast_bench.series import SLOTS, Series
from easyrider_forecaster.core import period

LOOK_BACK_S = (119, 30)
"""The detector's long window where there is so much past, else its short one."""


def period_s(series: Series, origin_s: int) -> float:
    """Period in s as told by what came before the origin; NaN where there is none."""
    for back_s in LOOK_BACK_S:
        if origin_s >= back_s:
            samples = series.power_w[(origin_s - back_s) * SLOTS : origin_s * SLOTS].astype(np.float64)
            return float(period.find(samples[None, :])[0])
    return float("nan")


def season(series: Series, origin_s: int, seconds: int) -> int:
    """The period in whole seconds for models at 1 Hz; 1, which is none, where it is shorter or too rarely seen."""
    found_s = period_s(series, origin_s)
    whole = round(found_s) if np.isfinite(found_s) and found_s >= 1.5 else 1
    return whole if whole >= 2 and 3 * whole <= seconds else 1
