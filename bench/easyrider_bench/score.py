"""Figures of one run, each as the table defines it."""

from dataclasses import dataclass

import numpy as np

from easyrider_bench.cases import STEP_S
from easyrider_bench.controllers.contract import Bools, Floats
from easyrider_bench.demand import billing_kw
from easyrider_bench.record import JobRecord, Record
from easyrider_bench.windows import drop_windows

TARGET_STEPS = round(10.0 / STEP_S)
"""`target_w` is kept as a mean of so many samples."""
LEAST_DUE_S = 60.0
"""A job with less work than this in its window is not looked at alone."""
SECOND = round(1.0 / STEP_S)
RAMP_QUANTILE = 0.99


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One run. Joules are of the domain that is worst in each; energy is of the one worst over its target."""

    trips: int
    heat_max: float
    over_target_j: float
    over_hard_j: float
    drop_over_j: float
    target_energy_j: float
    over_target_s: float
    sum_rule_s: float
    work_lost_pct: float
    worst_job_lost_pct: float
    peak_to_mean: float
    ramp_p99_w_per_s: float
    changes_per_min: float
    reversals_per_min: float
    billing_demand_kw: float
    plan_ms: float
    jobs_lost_pct: dict[str, float]


def figures(record: Record) -> Figures:
    """The figures of a finished run."""
    wall_w, hard_w, target_w = (a.astype(np.float64) for a in (record.wall_w, record.hard_w, record.target_w))
    domains = range(wall_w.shape[1])
    kept = [outside(record, place) for place in domains]
    targets = [over_target(wall_w[k, p], target_w[k, p]) for p, k in enumerate(kept)]
    worst = max(domains, key=lambda p: targets[p][0])
    minutes = record.case.key.seconds / 60.0 * record.case.site.gpus
    return Figures(
        trips=record.trips,
        heat_max=record.heat_max,
        over_target_j=targets[worst][0],
        over_hard_j=max(over_j(wall_w[k, p], hard_w[k, p]) for p, k in enumerate(kept)),
        drop_over_j=max(over_j(wall_w[~k, p], target_w[~k, p]) for p, k in enumerate(kept)),
        target_energy_j=float(target_w[kept[worst], worst].sum()) * STEP_S,
        over_target_s=targets[worst][1],
        sum_rule_s=record.sum_rule_s,
        work_lost_pct=work_lost_pct(record.jobs),
        worst_job_lost_pct=worst_job_lost_pct(record.jobs),
        peak_to_mean=float(wall_w[:, 0].max() / wall_w[:, 0].mean()),
        ramp_p99_w_per_s=ramp_p99_w_per_s(wall_w[:, 0]),
        changes_per_min=record.changes / minutes,
        reversals_per_min=record.turns / minutes,
        billing_demand_kw=billing_kw(wall_w[:, 0], record.case.site.demand),
        plan_ms=1e3 * record.plan_cpu_s / record.timed_looks if record.timed_looks else 0.0,
        jobs_lost_pct={job.id: _lost_pct(job) for job in record.jobs if job.due_s > 0},
    )


def outside(record: Record, place: int) -> Bools:
    """Samples of a domain that lie in no drop window, (T,)."""
    kept = np.ones(len(record.wall_w), dtype=np.bool_)
    begin_s = record.case.until_s - record.case.key.seconds
    for first_s, last_s in drop_windows(record.case).get(place, []):
        first, last = (round((at_s - begin_s) / STEP_S) for at_s in (first_s, last_s))
        kept[first:last] = False
    return kept


def over_target(wall_w: Floats, target_w: Floats) -> tuple[float, float]:
    """(joules, seconds) in which the trailing 10 s mean of power minus target in force lies above 0, (T,) each."""
    above_w = np.maximum(trailing_mean(wall_w - target_w), 0.0)
    return float(above_w.sum()) * STEP_S, float(np.count_nonzero(above_w)) * STEP_S


def trailing_mean(values: Floats) -> Floats:
    """Mean of the last 10 s at each sample; at the beginning, of those there are."""
    total = np.concatenate(([0.0], np.cumsum(values)))
    last = np.arange(1, len(values) + 1)
    first = np.maximum(last - TARGET_STEPS, 0)
    return np.asarray((total[last] - total[first]) / (last - first))


def over_j(wall_w: Floats, limit_w: Floats) -> float:
    """Joules above a limit, sample by sample."""
    return float(np.maximum(wall_w - limit_w, 0.0).sum()) * STEP_S


def work_lost_pct(jobs: tuple[JobRecord, ...]) -> float:
    """100 (1 - sum w n p / sum w n p0); 0 where there was no work."""
    due = sum(job.weight * job.gpus * job.due_s for job in jobs)
    done = sum(job.weight * job.gpus * job.done_s for job in jobs)
    return 100.0 * (1.0 - done / due) if due > 0 else 0.0


def worst_job_lost_pct(jobs: tuple[JobRecord, ...]) -> float:
    """The most that one job lost, of those with enough work to tell; 0 where there is none."""
    return max((_lost_pct(job) for job in jobs if job.due_s >= LEAST_DUE_S), default=0.0)


def ramp_p99_w_per_s(wall_w: Floats) -> float:
    """0.99 quantile of how fast the mean power of one second differs from that of the next."""
    whole = wall_w[: len(wall_w) // SECOND * SECOND].reshape(-1, SECOND).mean(axis=1)
    return float(np.quantile(np.abs(np.diff(whole)), RAMP_QUANTILE)) if len(whole) > 1 else 0.0


def _lost_pct(job: JobRecord) -> float:
    return 100.0 * (1.0 - job.done_s / job.due_s)
