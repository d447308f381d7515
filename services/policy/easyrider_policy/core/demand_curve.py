"""What a scope's own jobs are worth at each price of a watt.

At one price every job takes the watts whose last one is worth it; cumulated watts against cumulated work is the
curve. Wall watts that count against targets, of steered jobs alone. Where regions hang below, jobs are one claim for
each domain that they hang on directly, beside the regions'; where none do, the whole scope is one curve.
"""

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np

from easyrider_policy.core import curves
from easyrider_policy.core.allocate import LARGE, at_cost
from easyrider_policy.core.fleet import Floats
from easyrider_policy.core.prices import path_prices
from easyrider_policy.core.problem import Problem
from easyrider_policy.core.region_shares import Claim, concave, thinned
from easyrider_policy.core.repair import repaired
from easyrider_policy.core.solution import Solution
from easyrider_policy.core.tally import tally

PRICES, FEWER = 60, 30
"""Steps of about 12 %: with coarser ones a curve has its corners where prices happen to stand.
From so many jobs on as time is dear, fewer: there each corner is a small part."""


@lru_cache(maxsize=1)  # a solution stands as long as nothing moves
def whole_curve(solution: Solution, root: int) -> tuple[Floats, Floats]:
    """Points of (watts drawn on the root domain, worth) of all own jobs, as if the root had no limit of its own.

    The price of a watt at the root rises from nothing until nobody takes more than must be; below it every domain
    keeps the higher of its own price and the root's, which is what the planner would find there.
    """
    problem = solution.problem
    layout = problem.layout
    free = _without_root(problem, root, np.inf)
    budget_w = np.minimum(free.target_w, _hard_as_target_w(free))
    path = path_prices(free, np.maximum(budget_w, free.drawn_w(free.floor_w))).path
    prices = np.concatenate([[0.0], np.exp(_log_prices(problem))])
    watts, value = np.empty(len(prices)), np.empty(len(prices))
    for k, price in enumerate(prices.tolist()):
        leaf_cost = np.maximum(path, price)[layout.leaf_domain] * problem.drawn_at_leaf
        wished_w = at_cost(free, tally(layout.leaf_job, leaf_cost, layout.job_count))
        # What domains below do not let through is filled up elsewhere, as far as the root was asked for.
        taken = _without_root(problem, root, float(problem.drawn_w(wished_w)[root]))
        held_w = repaired(taken, wished_w)
        watts[k], value[k] = problem.drawn_w(held_w)[root], problem.value(held_w)
    return thinned(*concave(watts, value))


def own_claims(solution: Solution) -> list[Claim]:
    """Claims of the jobs that the last plan shared watts over."""
    problem = solution.problem
    layout = problem.layout
    if not (problem.boards > 0).any():
        return []
    cost = tally(layout.leaf_job, problem.drawn_at_leaf, layout.job_count)
    log_price, log_scale = _log_prices(problem), _log_scale(problem)
    ratio = curves.share_at(log_scale[:, None] + log_price[None, :], problem.busy[:, None])
    watts = np.empty((layout.job_count, len(log_price) + 2))
    watts[:, 0], watts[:, -1] = problem.top_w, problem.floor_w
    watts[:, 1:-1] = np.clip(
        ratio * problem.peak_w[:, None], problem.floor_w[:, None], problem.top_w[:, None]
    )
    speed = curves.speed(
        watts / problem.peak_w[:, None], np.repeat(problem.busy[:, None], len(log_price) + 2, axis=1)
    )
    value = speed * (layout.weight * problem.boards)[:, None]
    part = problem.drawn_at_leaf / np.maximum(cost[layout.leaf_job], 1e-12)
    fleet = layout.fleet
    found = []
    for domain in np.unique(layout.leaf_domain).tolist():
        pairs = np.flatnonzero((layout.leaf_domain == domain) & (problem.drawn_at_leaf > 0))
        if not len(pairs):
            continue
        jobs = layout.leaf_job[pairs]
        drawn_w = (watts[jobs] * problem.drawn_at_leaf[pairs, None]).sum(axis=0)
        gained = (value[jobs] * part[pairs, None]).sum(axis=0)
        curve_w, curve_value = thinned(*concave(drawn_w, gained))
        unit = np.zeros(len(fleet.domains))
        unit[domain] = 1.0
        found.append(
            Claim(
                floor_w=float(curve_w[0]),
                most_w=float(curve_w[-1]),
                curve_w=curve_w,
                curve_value=curve_value,
                carried=fleet.weights.worst_above(unit),
            )
        )
    return found


def _log_scale(problem: Problem) -> Floats:
    """(J,) what the price of a wall watt is multiplied by to be that of a unit of a job's ratio."""
    layout = problem.layout
    cost = tally(layout.leaf_job, problem.drawn_at_leaf, layout.job_count)
    worth = np.maximum(layout.weight * problem.boards, 1e-9)
    scale: Floats = np.log(np.maximum(cost, 1e-9) * problem.peak_w / worth)
    return scale


def _log_prices(problem: Problem) -> Floats:
    """Prices from where all jobs take everything to where none takes more than it must."""
    layout = problem.layout
    cost = tally(layout.leaf_job, problem.drawn_at_leaf, layout.job_count)
    taking = (problem.boards > 0) & (cost > 0)
    scale = _log_scale(problem)[taking] if taking.any() else np.zeros(1)
    low, high = math.log(0.2 * curves.LEAST_BUSY), math.log(3.0)
    count = FEWER if layout.job_count >= LARGE else PRICES
    return np.linspace(low - float(scale.max()), high - float(scale.min()), count)


def _hard_as_target_w(problem: Problem) -> Floats:
    """(D,) hard limits in watts of the target."""
    drawn_w, held_w = problem.drawn_w(problem.top_w), problem.held_w(problem.top_w)
    ratio: Floats = np.where(held_w > 0, drawn_w / np.where(held_w > 0, held_w, 1.0), 1.0)
    return problem.hard_w * ratio


def _without_root(problem: Problem, root: int, drawn_w: float) -> Problem:
    """The problem with so much to draw on the root domain, whatever it carries."""
    target_w, hard_w = problem.target_w.copy(), problem.hard_w.copy()
    target_w[root], hard_w[root] = drawn_w, np.inf
    return replace(problem, target_w=target_w, hard_w=hard_w)
