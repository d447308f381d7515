"""Exponential smoothing and Theta, from statsmodels and statsforecast, refitted at every origin.

Where the product's detector finds a period of 1.5 s or more, all three are told it, rounded to whole seconds.
"""

import numpy as np
from statsforecast.models import AutoETS as SfAutoEts
from statsforecast.models import Theta as SfTheta
from statsmodels.tsa.exponential_smoothing.ets import ETSModel

from easyrider_forecast_bench.rivals.borrowed import season
from easyrider_forecast_bench.rivals.paths import STEPS, Past
from easyrider_forecast_bench.rivals.stepwise import Fit
from easyrider_forecast_bench.series import Series


class Ets:
    """statsmodels: additive errors; a season where one is known, else a damped trend."""

    def __init__(self, series: Series) -> None:
        self._series = series

    def ahead(self, known: Past) -> Fit:
        """The path from this origin on."""
        turn_s = season(self._series, known.origin_s, len(known.seconds_w))
        if turn_s > 1:
            model = ETSModel(known.seconds_w, error="add", seasonal="add", seasonal_periods=turn_s)
        else:
            model = ETSModel(known.seconds_w, error="add", trend="add", damped_trend=True)
        result = model.fit(disp=False)
        return Fit(np.asarray(result.forecast(STEPS)), bool(result.mle_retvals["converged"]))


class AutoEts:
    """statsforecast: form and parameters chosen by the corrected information criterion."""

    def __init__(self, series: Series) -> None:
        self._series = series

    def ahead(self, known: Past) -> Fit:
        """The path from this origin on."""
        turn_s = season(self._series, known.origin_s, len(known.seconds_w))
        return Fit(SfAutoEts(season_length=turn_s).forecast(y=known.seconds_w, h=STEPS)["mean"])


class Theta:
    """statsforecast: the standard theta method."""

    def __init__(self, series: Series) -> None:
        self._series = series

    def ahead(self, known: Past) -> Fit:
        """The path from this origin on."""
        turn_s = season(self._series, known.origin_s, len(known.seconds_w))
        return Fit(SfTheta(season_length=turn_s).forecast(y=known.seconds_w, h=STEPS)["mean"])
