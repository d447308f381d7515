"""Watts per board of every job: least weighted slowdown under nested budgets, with a certificate of the gap."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core import curves
from easyrider_policy.core.polish import FEW_JOBS, polished
from easyrider_policy.core.prices import path_prices
from easyrider_policy.core.problem import Problem
from easyrider_policy.core.repair import repaired
from easyrider_policy.core.sweeps import swept
from easyrider_policy.core.tally import tally
from easyrider_policy.core.weights import on_domains

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

GOOD_ENOUGH = 0.003
SWEEPS = 6
ROUNDS = 6
LARGE = 1_000
"""From so many jobs on, two rounds: there the gap is small and time is dear."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Allocation:
    """`watts` (J,) per board; `own_price` (D,): weighted boards' worth of speed one more wall watt there buys.

    `gap`: certified share of the lost work between this and the optimum; `hard_binds` (D,): the hard limit
    and not the target is the smaller budget.
    """

    watts: Floats
    own_price: Floats
    hard_binds: Bools
    gap: float


class _Limits(NamedTuple):
    """What a bound rests on: (P,) what a watt of a job weighs on the limit that binds there, (D,) that limit."""

    weight: Floats
    budget_w: Floats


def allocate(problem: Problem, warm_own: Floats | None = None) -> Allocation:
    """The best watts found. The floors must fit the budgets. `warm_own` (D,): prices of a like problem before."""
    budget_w, hard_binds = _single_budget(problem)
    guess = path_prices(problem, budget_w)
    if not guess.own.any():
        watts = repaired(problem, problem.top_w, fills=0)
        return Allocation(watts=watts, own_price=guess.own, hard_binds=hard_binds, gap=0.0)
    limits = _limits(problem, budget_w, hard_binds)
    own, cost = guess.own, _cost(problem, guess.own)
    spans = _spans(problem)
    if spans and warm_own is not None and _bound(problem, warm_own, limits) < _bound(problem, own, limits):
        own, cost = warm_own, _cost(problem, warm_own)
    best_w, best_value, best_own, bound = problem.top_w, -np.inf, own, np.inf
    for turn in range(2 if problem.layout.job_count >= LARGE else ROUNDS):
        if turn > 0 or (spans and warm_own is not own):
            own, cost = swept(problem, own, cost, budget_w, SWEEPS)
        watts = repaired(problem, at_cost(problem, cost))
        value = problem.value(watts)
        if value > best_value:
            best_w, best_value, best_own = watts, value, own
        bound = min(bound, _bound(problem, own, limits))
        if _gap(problem, best_value, bound) <= GOOD_ENOUGH:
            break
    gap = _gap(problem, best_value, bound)
    if gap > GOOD_ENOUGH and problem.layout.job_count < FEW_JOBS:
        for watts in polished(problem, best_w, _cost(problem, best_own)):
            value = problem.value(watts)
            if value > best_value:
                best_w, best_value = watts, value
        gap = _gap(problem, best_value, bound)
    return Allocation(watts=best_w, own_price=best_own, hard_binds=hard_binds, gap=gap)


def _spans(problem: Problem) -> bool:
    """Whether some job stands in two nearest domains; path prices alone are exact where none does."""
    return len(problem.layout.leaf_job) > problem.layout.job_count


def at_cost(problem: Problem, cost: Floats) -> Floats:
    """Watts per board (J,) each job takes when a watt on each of its boards costs `cost` (J,)."""
    worth = np.maximum(problem.layout.weight * problem.boards, 1e-9)
    log_marginal = np.log(np.maximum(cost * problem.peak_w / worth, 1e-12))
    watts = problem.peak_w * curves.share_at(log_marginal, problem.busy)
    watts = np.where(cost > 0, watts, problem.top_w)
    result: Floats = np.clip(watts, problem.floor_w, problem.top_w)
    return result


def _cost(problem: Problem, own: Floats) -> Floats:
    layout = problem.layout
    weighed = own[layout.pair_domain] * problem.drawn
    return tally(layout.pair_job, weighed, layout.job_count)


def _single_budget(problem: Problem) -> tuple[Floats, Bools]:
    """Both limits in watts of the target, the smaller of them, and where that is the hard one."""
    drawn, held = problem.drawn_w(problem.top_w), problem.held_w(problem.top_w)
    hard_w = problem.hard_w * np.where(held > 0, drawn / np.where(held > 0, held, 1.0), 1.0)
    floor_w = problem.drawn_w(problem.floor_w)
    budget_w = np.maximum(np.minimum(problem.target_w, hard_w), floor_w)
    return budget_w, hard_w < problem.target_w


def _limits(problem: Problem, budget_w: Floats, hard_binds: Bools) -> _Limits:
    """A price on a hard limit is paid for what counts there, not for draw: jobs on two feeds weigh unlike on both."""
    layout, drawn = problem.layout, problem.drawn
    if not hard_binds.any():
        return _Limits(drawn, budget_w)
    top_w, top_held_w = problem.drawn_w(problem.top_w), problem.held_w(problem.top_w)
    ratio = np.where(top_held_w > 0, top_w / np.where(top_held_w > 0, top_held_w, 1.0), 1.0)
    weight = np.where(hard_binds[layout.pair_domain], ratio[layout.pair_domain] * problem.loads.worst, drawn)
    # Floors that do not fit are met all the same.
    return _Limits(weight, np.maximum(budget_w, on_domains(layout, weight, problem.floor_w)))


def _bound(problem: Problem, own: Floats, limits: _Limits) -> float:
    """What no sharing within these limits can exceed: the Lagrangian of these prices."""
    layout = problem.layout
    cost = tally(layout.pair_job, own[layout.pair_domain] * limits.weight, layout.job_count)
    best = at_cost(problem, cost)
    return min(problem.value(best) - float(cost @ best) + float(own @ limits.budget_w), problem.most())


def _gap(problem: Problem, value: float, bound: float) -> float:
    """(bound - value) / (most - bound): the share of the lost work that a better sharing might save."""
    most = problem.most()
    lost = max(most - bound, 1e-9 * max(most, 1.0))
    return max(0.0, bound - value) / lost
