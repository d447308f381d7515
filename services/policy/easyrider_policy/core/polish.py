"""Small scattered scopes: watts handed out step by step to whom they help most, from several beginnings.

Prices and repair are good where many jobs share each domain. Where a few jobs cross domains in odd ways,
shrinking them in proportion leaves several per cent of the lost work on the table; a plain loop finds them.
"""

import heapq
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core import curves
from easyrider_policy.core.problem import Problem
from easyrider_policy.core.repair import repaired

Floats = NDArray[np.float64]

FEW_JOBS: Final = 200
STEPS: Final = 24
"""Between what a job begins with and the most it can use."""
VERY_FEW: Final = 16
GIVEN_UP: Final = 0.15
BEGINNINGS: Final = (0.0, 0.7, 0.9)
"""Parts of the way from the floors to the watts that prices found."""


def polished(problem: Problem, watts: Floats, cost: Floats) -> Iterator[Floats]:
    """Other feasible watts (J,), some of which may be better. `cost` (J,) what a watt per board costs at prices."""
    whole = np.maximum(problem.loads.per_job, 1e-9)
    priced = np.where(cost > 0, cost, 1e-3 * float(cost.max(initial=0.0)) + 1e-12)
    for part in BEGINNINGS:
        begin_w = problem.floor_w + part * (watts - problem.floor_w)
        for dear in (whole, priced):
            yield repaired(problem, _handed_out(problem, begin_w, dear))
    for job in range(problem.layout.job_count if problem.layout.job_count <= VERY_FEW else 0):
        # What one job gives up may be worth more to several others, each in another domain of it.
        begin_w = watts.copy()
        begin_w[job] -= GIVEN_UP * (watts[job] - problem.floor_w[job])
        yield repaired(problem, _handed_out(problem, begin_w, priced, but=job))


def _handed_out(problem: Problem, begin_w: Floats, dear: Floats, but: int = -1) -> Floats:
    """Watts raised from `begin_w`, always the job whose next step buys most speed for what is `dear`; never `but`."""
    layout = problem.layout
    step_w = np.maximum(problem.top_w - begin_w, 0.0) / STEPS
    at_w = begin_w[:, None] + step_w[:, None] * (np.arange(STEPS) + 0.5)
    classes = np.repeat(problem.busy[:, None], STEPS, axis=1)
    slope = curves.marginal(at_w / problem.peak_w[:, None], classes)
    worth = (layout.weight * problem.boards / problem.peak_w / dear)[:, None] * slope
    left_target: list[float] = (problem.target_w - problem.drawn_w(begin_w)).tolist()
    left_hard: list[float] = (problem.hard_w - problem.held_w(begin_w)).tolist()
    needs = _needs(problem, step_w)
    rank: list[list[float]] = worth.tolist()
    taken = [0] * layout.job_count
    heap = [(-rank[job][0], job) for job in np.flatnonzero(step_w > 1e-9).tolist() if job != but]
    heapq.heapify(heap)
    while heap:
        _, job = heapq.heappop(heap)
        mine = needs[job]
        if any(left_target[d] < drawn or left_hard[d] < held for d, drawn, held in mine):
            continue
        for d, drawn, held in mine:
            left_target[d] -= drawn
            left_hard[d] -= held
        taken[job] += 1
        if taken[job] < STEPS:
            heapq.heappush(heap, (-rank[job][taken[job]], job))
    raised_w: Floats = begin_w + step_w * np.array(taken)
    return raised_w


def _needs(problem: Problem, step_w: Floats) -> list[list[tuple[int, float, float]]]:
    """(domain, wall watts against its target, against its hard limit) of one step, by job."""
    layout = problem.layout
    drawn = problem.drawn * step_w[layout.pair_job]
    held = problem.loads.worst * step_w[layout.pair_job]
    found: list[list[tuple[int, float, float]]] = [[] for _ in range(layout.job_count)]
    for domain, job, target_w, hard_w in zip(
        layout.pair_domain.tolist(), layout.pair_job.tolist(), drawn.tolist(), held.tolist(), strict=True
    ):
        found[job].append((domain, target_w, hard_w))
    return found
