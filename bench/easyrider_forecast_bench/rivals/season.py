"""Seasonal-naive: the last whole period again and again, with a period borrowed from the product's detector."""

import numpy as np

from easyrider_forecast_bench.rivals.borrowed import period_s
from easyrider_forecast_bench.rivals.paths import STEPS, Past
from easyrider_forecast_bench.rivals.stepwise import Fit
from easyrider_forecast_bench.series import SLOTS, Array, Series


class SeasonalNaive:
    """One series; the last value where no period is found."""

    def __init__(self, series: Series) -> None:
        self._series = series

    def ahead(self, known: Past) -> Fit:
        """The path from this origin on."""
        found_s = period_s(self._series, known.origin_s)
        if not np.isfinite(found_s):
            return Fit(np.full(STEPS, known.last_w))
        end = known.origin_s * SLOTS
        return Fit(_repeated(self._series.power_w[:end].astype(np.float64), found_s * SLOTS))


def _repeated(past_w: Array, period: float) -> Array:
    """One-second means of the last `period` slots repeated; fractions of a slot by the running sum's line."""
    total_w = np.concatenate(([0.0], np.cumsum(past_w)))
    end = len(past_w)
    whole = np.interp(end, np.arange(end + 1), total_w) - np.interp(end - period, np.arange(end + 1), total_w)
    edges = np.arange(STEPS + 1) * float(SLOTS)
    turns = np.floor(edges / period)
    inside = np.interp(end - period + (edges - turns * period), np.arange(end + 1), total_w)
    reached = turns * whole + inside - np.interp(end - period, np.arange(end + 1), total_w)
    return np.asarray(np.diff(reached) / SLOTS)
