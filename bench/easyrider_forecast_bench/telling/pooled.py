"""Figures pooled over the series of a family, and ratios to the best rival with bands by resampling series."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from easyrider_forecast_bench.cells import Done
from easyrider_forecast_bench.ours import ABLATIONS, NAME
from easyrider_forecast_bench.series import HORIZONS_S, Array

RESAMPLES = 2000
BAND = (5.0, 95.0)
FIGURES = ("mae_mean_w", "mae_peak_w")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """Ours over the best rival, chosen after the fact for this family and horizon; with a band of 5 to 95 %.

    In the band the best rival is chosen anew in every resample of the series.
    """

    family: str
    figure: str
    horizon_s: int
    ours_w: float
    rival: str
    rival_w: float
    rating_w: float
    low: float
    high: float

    @property
    def ratio(self) -> float:
        """Below 1 ours is better; NaN where the best rival has no error."""
        return self.ours_w / self.rival_w if self.rival_w > 0 else float("nan")


def errors(done: Sequence[Done], figure: str, horizon_s: int) -> tuple[Array, Array]:
    """Sum of errors and number of origins of each series of one model, (series,) each."""
    column = HORIZONS_S.index(horizon_s)
    found = [each.figures[column] for each in done]
    number = np.array([f.n_origins for f in found], np.float64)
    values = np.array([getattr(f, figure) or 0.0 for f in found])
    return values * number, number


def mae_w(done: Sequence[Done], figure: str, horizon_s: int) -> float:
    """Over all origins of all series; NaN where there is none."""
    total, number = errors(done, figure, horizon_s)
    return float(total.sum() / number.sum()) if number.sum() else float("nan")


def ratios(done: Sequence[Done], family: str, model: str = NAME) -> list[Ratio]:
    """Of one family, both figures and every horizon; none where ours or every rival is missing."""
    by = _by_model(done, family)
    rivals = [name for name in by if name not in ABLATIONS]
    if model not in by or not rivals:
        return []
    found = []
    for figure in FIGURES:
        for horizon_s in HORIZONS_S:
            one = _ratio(by, model, rivals, figure, horizon_s)
            if one is not None:
                found.append(one)
    return found


def _ratio(
    by: dict[str, list[Done]], model: str, rivals: list[str], figure: str, horizon_s: int
) -> Ratio | None:
    ours, number = errors(by[model], figure, horizon_s)
    if not number.sum():
        return None
    theirs = np.stack([errors(by[name], figure, horizon_s)[0] for name in rivals])
    best = int(theirs.sum(axis=1).argmin())
    drawn = np.random.default_rng(len(ours)).integers(0, len(ours), (RESAMPLES, len(ours)))
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = ours[drawn].sum(axis=1) / theirs[:, drawn].sum(axis=2).min(axis=0)
    low, high = (
        np.percentile(spread[np.isfinite(spread)], BAND) if np.isfinite(spread).any() else (np.nan,) * 2
    )
    mine = by[model]
    return Ratio(
        family=mine[0].key.family,
        figure=figure,
        horizon_s=horizon_s,
        ours_w=float(ours.sum() / number.sum()),
        rival=rivals[best],
        rival_w=float(theirs[best].sum() / number.sum()),
        rating_w=float(np.mean([each.rating_w for each in mine])),
        low=float(low),
        high=float(high),
    )


def _by_model(done: Sequence[Done], family: str) -> dict[str, list[Done]]:
    """Runs of each model in one order of series; models that lack a series are left out."""
    by: dict[str, list[Done]] = {}
    for each in sorted(done, key=lambda one: one.key):
        if each.key.family == family:
            by.setdefault(each.model, []).append(each)
    most = max(map(len, by.values()), default=0)
    return {name: runs for name, runs in by.items() if len(runs) == most}


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The 0.99 bound over a family at one horizon."""

    horizon_s: int
    hours: float
    coverage: float
    lowest: float
    lowest_series: str
    slack: float


def calibration(done: Sequence[Done], *, shortest_s: int = 0) -> list[Calibration]:
    """Coverage pooled over all origins, the lowest of the series of `shortest_s` or more, and median slack."""
    found = []
    for column, horizon_s in enumerate(HORIZONS_S):
        scored = [(each, f) for each in done if (f := each.figures[column]).hours and f.coverage is not None]
        if not scored:
            continue
        hours = np.array([f.hours for _, f in scored])
        covered = np.array([f.coverage for _, f in scored])
        slack = [f.over_w / f.spare_w for _, f in scored if f.over_w is not None and f.spare_w]
        long = [(f.coverage or 0.0, each.key.name) for each, f in scored if each.key.seconds >= shortest_s]
        lowest, name = min(long, default=(float("nan"), ""))
        found.append(
            Calibration(
                horizon_s=horizon_s,
                hours=float(hours.sum()),
                coverage=float((hours * covered).sum() / hours.sum()),
                lowest=lowest,
                lowest_series=name,
                slack=float(np.median(slack)) if slack else float("nan"),
            )
        )
    return found
