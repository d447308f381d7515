"""What the forecasts of one series are worth, horizon by horizon."""

import msgspec
import numpy as np

from easyrider_forecast_bench.contract import Answer
from easyrider_forecast_bench.rivals.paths import HISTORY_S
from easyrider_forecast_bench.series import HORIZONS_S, WARM_UP_S, Array, Outcome, Series, outcome

LEVELS = (0.5, 0.9, 0.99)
"""Quantiles of the peak whose pinball losses are averaged; a rival without quantiles says its peak for each."""
RETURN_WITHIN_S, RETURN_RATIO = 60, 0.05
"""After a limit's release what is wanted is told within the ratio of the true peak, after so long at most."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """One horizon of one series and model; None where it cannot be scored.

    `scale_w` is what MASE divides by: mean difference of neighbouring one-second means over the 5 min before
    each origin. `over_w` and `spare_w` are means of (bound - peak) and (rating - peak).
    """

    horizon_s: int
    n_origins: int
    mae_mean_w: float | None = None
    mae_peak_w: float | None = None
    scale_w: float | None = None
    pinball_w: float | None = None
    hours: float | None = None
    coverage: float | None = None
    over_w: float | None = None
    spare_w: float | None = None


def figures(series: Series, origins_s: Array, answer: Answer) -> list[Figures]:
    """One record a horizon."""
    came = wanted(series, origins_s)
    scale_w = _scales(series, origins_s)
    bounds = _bounds(series, answer)
    return [_one(column, came, answer, scale_w, bounds[column]) for column in range(len(HORIZONS_S))]


def wanted(series: Series, origins_s: Array) -> Outcome:
    """What is to be foretold: what came, and of a capped load what would have come without the limit."""
    if not series.natural_w.size:
        return outcome(series, origins_s)
    return outcome(_natural(series), origins_s)


def returned_s(series: Series, q: Array) -> float:
    """Seconds from the limit's release to where the told peak (seconds, horizons) stays within 5 % for a minute.

    NaN where it never does. Of the horizon of 30 s, whose true peak is that of whole iterations.
    """
    seconds = np.arange(series.released_s, series.seconds - HORIZONS_S[-1])
    true_w = outcome(_natural(series), seconds).peak_w[:, -1]
    near = np.abs(q[seconds, -1] - true_w) <= RETURN_RATIO * true_w
    for late in range(len(near) - RETURN_WITHIN_S):
        if near[late : late + RETURN_WITHIN_S].all():
            return float(late)
    return float("nan")


def _natural(series: Series) -> Series:
    return Series(
        family=series.family,
        name=series.name,
        rating_w=series.rating_w,
        gpus=series.gpus,
        power_w=series.natural_w,
        instant_w=series.instant_w,
        util_pct=series.util_pct,
    )


def _one(
    column: int, came: Outcome, answer: Answer, scale_w: Array, bound: tuple[float | None, ...]
) -> Figures:
    mean_w, peak_w = came.mean_w[:, column], came.peak_w[:, column]
    there = np.isfinite(mean_w)
    number = int(there.sum())
    if not number:
        return Figures(horizon_s=HORIZONS_S[column], n_origins=0)
    hours, coverage, over_w, spare_w = bound
    said_w = [answer.peak_w, *(answer.peak_w if q is None else q for q in (answer.q90_w, answer.q99_w))]
    losses = [
        np.maximum(level * (peak_w - q[:, column]), (level - 1) * (peak_w - q[:, column]))[there].mean()
        for level, q in zip(LEVELS, said_w, strict=True)
    ]
    return Figures(
        horizon_s=HORIZONS_S[column],
        n_origins=number,
        mae_mean_w=float(np.abs(answer.mean_w[:, column] - mean_w)[there].mean()),
        mae_peak_w=float(np.abs(answer.peak_w[:, column] - peak_w)[there].mean()),
        scale_w=float(scale_w[there].mean()),
        pinball_w=float(np.mean(losses)),
        hours=hours,
        coverage=coverage,
        over_w=over_w,
        spare_w=spare_w,
    )


def _scales(series: Series, origins_s: Array) -> Array:
    """Mean absolute difference of neighbouring one-second means in the past of each origin, (origins,)."""
    means_w, _ = series.by_second()
    total_w = np.concatenate(([0.0, 0.0], np.cumsum(np.abs(np.diff(means_w)))))
    begin = np.maximum(origins_s - HISTORY_S, 0)
    steps = np.maximum(origins_s - begin - 1, 1)
    return np.asarray((total_w[origins_s] - total_w[begin + 1]) / steps)


def _bounds(series: Series, answer: Answer) -> list[tuple[float | None, ...]]:
    """Hours scored, coverage, mean of (bound - peak) and of (rating - peak), for each horizon."""
    found: list[tuple[float | None, ...]] = []
    if answer.bounds is None or series.seconds <= WARM_UP_S or series.limit_w.size:
        return [(None,) * 4 for _ in HORIZONS_S]
    seconds = np.arange(max(WARM_UP_S, answer.bounds.first_s), series.seconds)
    came = outcome(series, seconds)
    for column in range(len(HORIZONS_S)):
        peak_w = came.peak_w[:, column]
        bound_w = answer.bounds.q99_w[seconds, column].astype(np.float64)
        there = np.isfinite(peak_w)
        if not there.any():
            found.append((None,) * 4)
            continue
        held = bound_w[there] >= peak_w[there]  # an absent bound holds nothing
        over_w = float(np.mean(bound_w[there] - peak_w[there]))
        found.append(
            (
                float(there.sum()) / 3600.0,
                float(held.mean()),
                over_w if np.isfinite(over_w) else None,
                float(np.mean(series.rating_w - peak_w[there])),
            )
        )
    return found
