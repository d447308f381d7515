"""river: a linear model over the last values that learns second by second and is never refitted."""

import time
from typing import Any

import numpy as np
from river import linear_model, preprocessing, time_series

from easyrider_forecast_bench.rivals.paths import STEPS, Past
from easyrider_forecast_bench.rivals.stepwise import Fit
from easyrider_forecast_bench.series import SLOTS, Series

LAGS = 20
SMOOTHING = 0.995
"""Forgetting of the regression, a second: with gradient steps instead, a third to a half of the paths ran away."""


class Online:
    """SNARIMAX over standardised lags by Bayesian regression with forgetting; its target is standardised too."""

    def __init__(self, series: Series) -> None:
        self._series, self._learned_s = series, 0
        regressor = preprocessing.StandardScaler() | preprocessing.TargetStandardScaler(
            linear_model.BayesianLinearRegression(smoothing=SMOOTHING)
        )
        self._model: Any = time_series.SNARIMAX(p=LAGS, d=0, q=0, regressor=regressor)

    def ahead(self, known: Past) -> Fit:
        """The path from this origin on, after every second since the last one was learned."""
        origin_s = known.origin_s
        blocks = self._series.power_w[self._learned_s * SLOTS : origin_s * SLOTS].astype(np.float64)
        began_s, ticks = time.process_time(), max(origin_s - self._learned_s, 1)
        self._learned_s = origin_s
        for value_w in blocks.reshape(-1, SLOTS).mean(axis=1).tolist():
            self._model.learn_one(value_w)
        learned_s = time.process_time() - began_s
        path_w = np.asarray(self._model.forecast(STEPS), np.float64)
        return Fit(path_w, catch_up_s=learned_s * (ticks - 1) / ticks)
