"""Rows of the result: one a scenario, level and controller, pooled over seeds."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypedDict

import numpy as np

from easyrider_bench.cells import Done


class Row(TypedDict):
    """One row as it is written."""

    scenario: str
    oversub_pct: int
    target_share: float
    seeds: int
    controller: str
    trips: int
    heat_max: float
    over_target_j: float
    over_hard_j: float
    drop_over_j: float
    target_energy_j: float
    sum_rule_s: float
    work_lost_pct: float
    worst_job_lost_pct: float
    peak_to_mean: float
    ramp_p99_w_per_s: float
    changes_per_min: float
    reversals_per_min: float
    billing_demand_kw: float
    plan_ms: float


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


POOLED: dict[str, tuple[Callable[[Iterable[Any]], Any], int]] = {
    "trips": (sum, 0),
    "heat_max": (max, 4),
    "over_target_j": (sum, 1),
    "over_hard_j": (sum, 1),
    "drop_over_j": (sum, 1),
    "target_energy_j": (sum, 0),
    "sum_rule_s": (sum, 2),
    "work_lost_pct": (_mean, 4),
    "worst_job_lost_pct": (max, 3),
    "peak_to_mean": (_mean, 4),
    "ramp_p99_w_per_s": (max, 1),
    "changes_per_min": (_mean, 3),
    "reversals_per_min": (_mean, 3),
    "billing_demand_kw": (_mean, 3),
    "plan_ms": (_mean, 3),
}
"""How each figure is pooled over seeds, and its places after the point."""


def pooled(done: Sequence[Done], controllers: Sequence[str]) -> list[Row]:
    """Rows in the order of first appearance of the cells, controllers in the given order within each."""
    cells: dict[tuple[str, int], dict[str, list[Done]]] = {}
    for each in done:
        cell = cells.setdefault((each.key.scenario, each.key.oversub_pct), {})
        cell.setdefault(each.controller, []).append(each)
    return [
        _row(scenario, level, name, cell[name])
        for (scenario, level), cell in sorted(cells.items())
        for name in controllers
        if name in cell
    ]


def _row(scenario: str, level: int, controller: str, runs: list[Done]) -> Row:
    runs = sorted(runs, key=lambda each: each.key.seed)
    figures: dict[str, Any] = {
        name: round(pool(getattr(each.figures, name) for each in runs), places) + 0  # +0: no minus zero
        for name, (pool, places) in POOLED.items()
    }
    row: Row = {
        "scenario": scenario,
        "oversub_pct": level,
        "target_share": runs[0].target_share,
        "seeds": len(runs),
        "controller": controller,
        **figures,  # type: ignore[typeddict-item]
    }
    return row
