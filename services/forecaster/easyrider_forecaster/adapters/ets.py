"""Parameters of level and trend by statsmodels. Imported in the fit process alone: it costs 200 MB and 4 s."""

import warnings

import numpy as np
from statsmodels.tsa.exponential_smoothing.ets import ETSModel

from easyrider_forecaster.core.arrays import Array
from easyrider_forecaster.core.fits import FitRequest, FitResult
from easyrider_forecaster.core.level import LevelParameters

_DAMPING_WITHOUT_TREND = 0.9
_SIMPLER_BY = 2.0
"""The trend must lower the corrected information criterion by so much to be believed."""


def fit(request: FitRequest) -> FitResult:
    """Level alone, or level with damped trend where that explains the values better. Never raises for data."""
    values_w = request.values_w
    if len(values_w) < 4 or not np.isfinite(values_w).all():
        return FitResult(request.job, request.age, None, "too few or unfinite values")
    if np.ptp(values_w) == 0:
        return FitResult(request.job, request.age, None, "constant values have no best smoothing")
    faults: list[str] = []
    found: list[tuple[float, LevelParameters]] = []
    for with_trend in (False, True):
        try:
            found.append(_fitted(values_w, with_trend))
        except (ValueError, ArithmeticError, np.linalg.LinAlgError, IndexError) as fault:
            faults.append(f"{type(fault).__name__}: {fault}")
    found = [one for one in found if np.isfinite(one[0]) and one[1].stable]
    if not found:
        return FitResult(request.job, request.age, None, "; ".join(faults) or "no stable parameters")
    plain = found[0]
    best = min(found, key=lambda one: one[0] + (0.0 if one is plain else _SIMPLER_BY))
    return FitResult(request.job, request.age, best[1])


def _fitted(values_w: Array, with_trend: bool) -> tuple[float, LevelParameters]:
    model = ETSModel(
        values_w, error="add", trend="add" if with_trend else None, damped_trend=with_trend, seasonal=None
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UserWarning)  # not converged: judged below by criterion and stability
        result = model.fit(disp=False)
    named = dict(zip(model.param_names, np.asarray(result.params, dtype=np.float64), strict=True))
    alpha = float(named["smoothing_level"])
    beta = float(named.get("smoothing_trend", 0.0))
    phi = float(named.get("damping_trend", _DAMPING_WITHOUT_TREND))
    return float(result.aicc), LevelParameters(alpha=alpha, beta=min(beta, alpha), phi=phi)
