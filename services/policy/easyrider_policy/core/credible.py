"""Forecasts that say nothing, or what cannot be, are none: told as such with the reason, and used for nothing."""

import math
from typing import Final

import msgspec

from easyrider.messages import HorizonForecast, PowerForecast, SeriesForecast
from easyrider_policy.core.layout import Layout

ABSURD: Final = 1.2
"""Times what a job's boards can draw; a sensor's gain error stays below it."""
FARTHEST_S: Final = 600.0
NONE: Final = "no forecast"


def gated(forecast: PowerForecast, layout: Layout) -> PowerForecast:
    """The same message; a job's series that is refused has no horizons, confidence 0 and the reason in front."""
    most_w = {job.id: float(w) for job, w in zip(layout.jobs, layout.gpu_count * layout.max_w, strict=True)}
    series = tuple(_kept_or_none(each, most_w.get(each.id)) for each in forecast.series)
    return msgspec.structs.replace(forecast, series=series)


def refusal(series: SeriesForecast, most_w: float | None) -> str:
    """Why a series is no forecast; empty where it is one. `most_w`: what its boards can draw, None where unknown."""
    if not series.demand or not series.draw:
        return "nothing is said of any horizon"
    if not 0.0 <= series.confidence <= 1.0:
        return f"its confidence is {series.confidence}"
    if series.period_s is not None and not 0.0 < series.period_s < math.inf:
        return f"its period is {series.period_s} s"
    return _fault(series.demand, most_w) or _fault(series.draw, most_w)


def _kept_or_none(series: SeriesForecast, most_w: float | None) -> SeriesForecast:
    why = refusal(series, most_w)
    if series.scope != "job" or not why:
        return series
    return msgspec.structs.replace(
        series, draw=(), demand=(), period_s=None, confidence=0.0, reasons=(f"{NONE}: {why}", *series.reasons)
    )


def _fault(horizons: tuple[HorizonForecast, ...], most_w: float | None) -> str:
    for each in horizons:
        if not 0.0 < each.horizon_s <= FARTHEST_S:
            return f"a horizon of {each.horizon_s} s"
        watts = (each.mean_w, each.peak_w, each.peak_q90_w, each.peak_q99_w)
        if not all(0.0 <= w < math.inf for w in watts):
            return f"{', '.join(f'{w:g}' for w in watts)} W over {each.horizon_s:g} s"
        if most_w is not None and max(watts) > ABSURD * most_w:
            return f"{max(watts):.0f} W for boards that can draw {most_w:.0f} W"
        if each.mean_w > (1.0 + 1e-6) * each.peak_q99_w + 1.0:
            return f"a mean of {each.mean_w:.0f} W above its own bound of {each.peak_q99_w:.0f} W"
    return ""
