"""How far limits would have to rise until they bind a job, or bind nobody, by the prices of the last plan.

Prices say what jobs take at what cost, so the answer is what all of them would take once a watt is so cheap that the
job in question takes all it can use: those who share its domains take more as well. Where they are bound elsewhere
too, less suffices.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core import curves
from easyrider_policy.core.allocate import Allocation, at_cost
from easyrider_policy.core.problem import Problem
from easyrider_policy.core.tally import tally

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Relief:
    """Wall watts (D,) by which the room below each domain would have to grow, by target and by hard limit."""

    target_w: Floats
    hard_w: Floats


def weight_of(problem: Problem, allocation: Allocation) -> Floats:
    """Wall watts (P,) per board watt of a job, as they count against the limit that each domain's price is of."""
    hard = allocation.hard_binds[problem.layout.pair_domain]
    return np.where(hard, problem.loads.worst, problem.drawn)


def gain_per_w(problem: Problem, watts: Floats) -> Floats:
    """Share of its speed (J,) that each job gains by one more watt on each of its boards; 0 at what it can use."""
    gain = curves.marginal(watts / problem.peak_w, problem.busy) / problem.peak_w
    return np.where(watts < problem.top_w, gain, 0.0)


def of_job(problem: Problem, allocation: Allocation, job: int) -> Relief:
    """What would let one job take all it can use."""
    layout, weight = problem.layout, weight_of(problem, allocation)
    path = pairs_of(problem, job)
    cost = float((allocation.own_price[layout.pair_domain[path]] * weight[path]).sum())
    worth = layout.weight[job] * problem.boards[job] / problem.peak_w[job]
    ratio = problem.top_w[job : job + 1] / problem.peak_w[job]
    gain = worth * float(curves.marginal(ratio, problem.busy[job : job + 1])[0])
    own = allocation.own_price.copy()
    if cost > gain:
        own[layout.pair_domain[path]] *= gain / cost
    watts = _at_prices(problem, allocation, own)
    watts[job] = problem.top_w[job]
    return _short(problem, watts)


def of_domain(problem: Problem, allocation: Allocation, domain: int) -> Relief:
    """What would let a domain bind nobody, while all others bind as they do."""
    own = allocation.own_price.copy()
    own[domain] = 0.0
    return _short(problem, _at_prices(problem, allocation, own))


def pairs_of(problem: Problem, job: int) -> Ints:
    """The pairs of a job, one a domain that it meets."""
    return np.flatnonzero(problem.layout.pair_job == job)


def _at_prices(problem: Problem, allocation: Allocation, own: Floats) -> Floats:
    """Watts (J,) per board at these prices (D,), where they are more than now."""
    layout = problem.layout
    paid = own[layout.pair_domain] * weight_of(problem, allocation)
    cost = tally(layout.pair_job, paid, layout.job_count)
    return np.maximum(at_cost(problem, cost), allocation.watts)


def _short(problem: Problem, watts: Floats) -> Relief:
    return Relief(
        target_w=np.maximum(0.0, problem.drawn_w(watts) - problem.target_w),
        hard_w=np.maximum(0.0, problem.held_w(watts) - problem.hard_w),
    )
