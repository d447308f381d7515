"""ARIMA(2,0,1) from statsmodels and AutoARIMA from statsforecast, refitted at every origin."""

import numpy as np
from statsforecast.models import ARIMA as SfArima  # noqa: N811
from statsforecast.models import AutoARIMA as SfAutoArima
from statsmodels.tsa.arima.model import ARIMA as SmArima  # noqa: N811

from easyrider_forecast_bench.rivals.paths import STEPS, Past
from easyrider_forecast_bench.rivals.stepwise import Fit
from easyrider_forecast_bench.series import Array, Series

ORDER = (2, 0, 1)
CHOSEN_EVERY = 5
"""Origins from one choice of an order to the next; between them only parameters are fitted."""


class Arima:
    """statsmodels; each fit starts from the parameters of the one before."""

    def __init__(self, series: Series) -> None:  # noqa: ARG002 - it looks at no period
        self._start: Array | None = None

    def ahead(self, known: Past) -> Fit:
        """The path from this origin on."""
        start, self._start = self._start, None  # a fit that fails leaves none
        result = SmArima(known.seconds_w, order=ORDER).fit(cov_type="none", start_params=start)
        settled = bool(result.mle_retvals["converged"])
        if settled and np.isfinite(result.params).all():
            self._start = np.asarray(result.params)
        return Fit(np.asarray(result.forecast(STEPS)), settled)


class AutoArima:
    """statsforecast, without a season: choosing a seasonal order takes seconds."""

    def __init__(self, series: Series) -> None:  # noqa: ARG002 - it looks at no period
        self._asked = 0
        self._order: tuple[int, int, int] | None = None

    def ahead(self, known: Past) -> Fit:
        """The path from this origin on."""
        choose = self._asked % CHOSEN_EVERY == 0
        self._asked += 1
        order, self._order = self._order, None  # a fit that fails leaves none
        if order is None or choose:
            chosen = SfAutoArima(season_length=1).fit(known.seconds_w)
            p, q, _, _, _, d, _ = chosen.model_["arma"]
            self._order = (int(p), int(d), int(q))
            return Fit(chosen.predict(h=STEPS)["mean"])
        model = SfArima(order=order, include_mean=order[1] == 0, include_drift=False)
        path_w = model.forecast(y=known.seconds_w, h=STEPS)["mean"]
        self._order = order
        return Fit(path_w)
