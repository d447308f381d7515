"""From the ledger's sums to records of jobs; a few at a time, because thousands would hold the loop up."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from easyrider.accuracy import Accuracy, Horizon, Point, Rises, Score
from easyrider_forecaster.core import accuracy_scores as sums
from easyrider_forecaster.core.accuracy import Ledger
from easyrider_forecaster.core.accuracy_scores import TRAIL_STEP_S, Scores
from easyrider_forecaster.core.arrays import HORIZONS_S, Array

FIELDS = Score.__struct_fields__
_LEAST = 0.5
"""Fewer windows than this have faded away: nothing is said of them."""


@dataclass(frozen=True, slots=True)
class Told:
    """A job, its row, and what it says of itself."""

    job: str
    row: int
    gpu_count: int
    tenant: str = ""
    type_key: str = ""


def records(
    ledger: Ledger, jobs: list[Told], region: str, unix_s: float, ends_unix_s: float
) -> list[Accuracy]:
    """One a job, in their order. `ends_unix_s`: the moment at which the last closed second ended."""
    rows = np.array([job.row for job in jobs], np.int64)
    draw, demand = _horizons(ledger.draw, rows), _horizons(ledger.demand, rows)
    trails, rises = _trails(ledger, rows), _rises(ledger, rows)
    late_s = ledger.block + 1 - ledger.trail.ends
    return [
        Accuracy(
            job=job.job,
            region=region,
            tenant=job.tenant,
            type_key=job.type_key,
            gpu_count=job.gpu_count,
            updated_unix_s=round(unix_s, 1),
            seconds=int(ledger.seconds[job.row]),
            draw=draw[at],
            demand=demand[at],
            rises=rises[at],
            trail_ends_unix_s=round(ends_unix_s - late_s, 1) if trails[at] else None,
            trail_step_s=float(TRAIL_STEP_S),
            trail=trails[at],
        )
        for at, job in enumerate(jobs)
    ]


def _horizons(scores: Scores, rows: Array) -> list[tuple[Horizon, ...]]:
    run, lately = (_scores(table) for table in scores.sums(rows))
    left_out = np.moveaxis(scores.left_out[:, :, rows], 2, 0).tolist()
    return [
        tuple(
            Horizon(
                horizon_s=horizon_s,
                run=run[at][column],
                lately=lately[at][column],
                gaps=left_out[at][sums.GAP][column],
                hidden=left_out[at][sums.HIDDEN][column],
                assumed=left_out[at][sums.ASSUMED][column],
            )
            for column, horizon_s in enumerate(HORIZONS_S)
        )
        for at in range(len(rows))
    ]


def means(table: Array) -> Array:
    """Sums (SUMS, ...) as what is told, (11, ...) in the order of `Score`; NaN is unknown."""
    table = table.astype(np.float64)
    windows = table[sums.WINDOWS]
    with np.errstate(all="ignore"):
        mean = np.where(windows >= _LEAST, table / windows, np.nan)
        mase = np.where(mean[sums.RIVAL] > 0, mean[sums.ERROR] / mean[sums.RIVAL], np.nan)
    return np.stack(
        (
            windows, mean[sums.ERROR], mean[sums.BIAS], np.minimum(mase, 1e6), mean[sums.PEAK],
            0.5 * mean[sums.PEAK], _pinball(mean[sums.ABOVE90], mean[sums.OVER90], 0.9),
            _pinball(mean[sums.ABOVE99], mean[sums.OVER99], 0.99),
            np.clip(1.0 - mean[sums.MISS90], 0.0, 1.0), np.clip(1.0 - mean[sums.MISS99], 0.0, 1.0),
            -mean[sums.OVER99],
        )
    )  # fmt: skip


def _pinball(above_w: Array, over_w: Array, quantile: float) -> Array:
    """q x over where the bound was too low, (q - 1) x over where it was too high, as a mean."""
    return np.maximum(above_w - (1.0 - quantile) * over_w, 0.0)


def pooled(scores: Scores, rows: Array) -> Array:
    """What is told of all these rows together, of late: (11, horizons) in the order of `Score`."""
    return means(scores.sums(rows)[1].sum(axis=2, dtype=np.float64))


def _scores(table: Array) -> list[list[Score]]:
    """(SUMS, horizons, jobs) as records by job and horizon."""
    listed = np.moveaxis(means(table), (2, 1), (0, 1))
    whole = _listed(listed, 4)
    return [[Score(**dict(zip(FIELDS, numbers, strict=True))) for numbers in job] for job in whole]


def _trails(ledger: Ledger, rows: Array) -> list[tuple[Point, ...]]:
    points = np.moveaxis(ledger.trail.ordered(rows), 2, 0)
    begins = np.asarray(np.isfinite(points).any(axis=2))
    first = np.where(begins.any(axis=1), begins.argmax(axis=1), points.shape[1]).tolist()
    whole = _listed(points, 1)
    return [
        tuple(
            Point(mean_w=mean_w, q99_w=q99_w, seen_mean_w=seen_mean_w, seen_peak_w=seen_peak_w)
            for mean_w, q99_w, seen_mean_w, seen_peak_w in job[first[at] :]
        )
        for at, job in enumerate(whole)
    ]


def _listed(values: Array, digits: int) -> list[Any]:
    """Numbers as they are told; None for what is not finite."""
    told = np.round(values.astype(np.float64), digits).astype(object)
    told[~np.isfinite(values)] = None
    listed: list[Any] = told.tolist()
    return listed


def _rises(ledger: Ledger, rows: Array) -> list[Rises]:
    rises, found = ledger.rises, []
    for row in rows.tolist():
        leads_s = rises.leads_s[:, row]
        known = leads_s[np.isfinite(leads_s)]
        found.append(
            Rises(
                seen=int(rises.seen[row]),
                foretold=int(rises.foretold[row]),
                lead_s=round(float(np.median(known)), 2) if len(known) else None,
                false=int(rises.false[row]),
                withdrawn=int(rises.withdrawn[row]),
            )
        )
    return found
