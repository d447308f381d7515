"""Forecasts of groups and domains as message records, in whole tenths of a watt."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from easyrider.messages import HorizonForecast, SeriesForecast
from easyrider_forecaster.core.arrays import HORIZONS_S, Array


@dataclass(frozen=True, slots=True)
class Said:
    """What stands beside the numbers of one series."""

    id: str
    gpu_count: int
    period_s: float | None
    confidence: float
    reasons: tuple[str, ...]
    model: str
    censored: float
    basis: Literal["fingerprint", "observed", "nameplate"]
    next_rise_s: float | None = None
    next_fall_s: float | None = None


_ABSURD = 1.2
"""Times what boards can draw: no forecast of ours reaches it unless something is broken."""
Table = list[list[list[float]]]
"""Watts by row, horizon, and (mean, peak, q90, q99)."""


def table(mean_w: Array, peak_w: Array, q90_w: Array, q99_w: Array, scale: Array | float = 1.0) -> Table:
    """Four (rows, horizons) arrays, times `scale` per row, as numbers ready to be said."""
    stacked = np.stack((mean_w, peak_w, q90_w, q99_w), axis=2) * np.reshape(scale, (-1, 1, 1))
    listed: Table = np.round(stacked, 1).tolist()
    return listed


def horizons(row: list[list[float]]) -> tuple[HorizonForecast, ...]:
    """One record a horizon."""
    return tuple(
        HorizonForecast(horizon_s=float(h), mean_w=m, peak_w=p, peak_q90_w=q90, peak_q99_w=q99)
        for h, (m, p, q90, q99) in zip(HORIZONS_S, row, strict=True)
    )


def fault(rows: tuple[list[list[float]], ...], most_w: float) -> str:
    """Why numbers of one series are no forecast; empty where they are one. `most_w` is what its boards can draw."""
    for row in rows:
        for horizon_s, watts in zip(HORIZONS_S, row, strict=True):
            if not all(0.0 <= each <= _ABSURD * most_w + 1.0 for each in watts):
                said = ", ".join(f"{each:g}" for each in watts)
                return f"{said} W over {horizon_s} s for boards that can draw {most_w:.0f} W"
    return ""


def none(told: Said, why: str) -> Said:
    """The same series, of which nothing is believed."""
    reasons = (f"no forecast: {why}", *told.reasons)
    return replace(told, period_s=None, confidence=0.0, reasons=reasons, next_rise_s=None, next_fall_s=None)


def series(
    scope: Literal["job", "domain"],
    said: Said,
    draw: tuple[HorizonForecast, ...],
    demand: tuple[HorizonForecast, ...],
) -> SeriesForecast:
    """One job or domain."""
    return SeriesForecast(
        scope=scope,
        id=said.id,
        gpu_count=said.gpu_count,
        draw=draw,
        demand=demand,
        period_s=said.period_s,
        confidence=round(min(max(said.confidence, 0.0), 1.0), 3),
        reasons=said.reasons,
        model=said.model,
        censored=round(min(max(said.censored, 0.0), 1.0), 3),
        basis=said.basis,
        next_rise_s=said.next_rise_s,
        next_fall_s=said.next_fall_s,
    )
