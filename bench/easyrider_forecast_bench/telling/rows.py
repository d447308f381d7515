"""Rows of the result: one a series, model and horizon."""

from collections.abc import Sequence
from typing import TypedDict

from easyrider_forecast_bench.cells import Done
from easyrider_forecast_bench.score import Figures


class Row(TypedDict):
    """One row as it is written; None where a horizon cannot be scored, or a model has no bound."""

    family: str
    series: str
    model: str
    horizon_s: int
    n_origins: int
    hours: float | None
    mae_mean_w: float | None
    mae_peak_w: float | None
    mase: float | None
    pinball: float | None
    coverage99: float | None
    slack99: float | None
    us_per_tick: float


def rows(done: Sequence[Done]) -> list[Row]:
    """In the order of `done`."""
    return [_row(each, figures) for each in done for figures in each.figures]


def _row(done: Done, f: Figures) -> Row:
    return {
        "family": done.key.family,
        "series": done.key.name,
        "model": done.model,
        "horizon_s": f.horizon_s,
        "n_origins": f.n_origins,
        "hours": _rounded(f.hours, 4),
        "mae_mean_w": _rounded(f.mae_mean_w, 3),
        "mae_peak_w": _rounded(f.mae_peak_w, 3),
        "mase": _share(f.mae_mean_w, f.scale_w),
        "pinball": _rounded(f.pinball_w, 3),
        "coverage99": _rounded(f.coverage, 5),
        "slack99": _share(f.over_w, f.spare_w),
        "us_per_tick": round(done.us_per_tick, 2),
    }


def _rounded(value: float | None, places: int) -> float | None:
    return None if value is None else round(value, places) + 0.0


def _share(part: float | None, whole: float | None) -> float | None:
    """None where there is nothing to divide by: a load that never moves has no scale."""
    return None if part is None or not whole or whole < 1e-9 else round(part / whole, 4) + 0.0
