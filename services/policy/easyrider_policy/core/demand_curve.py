"""What a scope's own jobs are worth at each price of a watt: one claim for each domain that jobs hang on directly.

At one price every job takes the watts whose last one is worth it; cumulated watts against cumulated work is the
curve. Wall watts that count against targets, of steered jobs alone.
"""

import math

import numpy as np

from easyrider_policy.core import curves
from easyrider_policy.core.region_shares import Claim, concave, thinned
from easyrider_policy.core.solution import Solution
from easyrider_policy.core.tally import tally

PRICES = 24


def own_claims(solution: Solution) -> list[Claim]:
    """Claims of the jobs that the last plan shared watts over."""
    problem = solution.problem
    layout = problem.layout
    if not (problem.boards > 0).any():
        return []
    cost = tally(layout.leaf_job, problem.drawn_at_leaf, layout.job_count)
    worth = np.maximum(layout.weight * problem.boards, 1e-9)
    log_scale = np.log(np.maximum(cost, 1e-9) * problem.peak_w / worth)
    taking = (problem.boards > 0) & (cost > 0)
    scale = log_scale[taking] if taking.any() else np.zeros(1)
    log_price = np.linspace(
        math.log(0.2 * curves.LEAST_BUSY) - float(scale.max()), math.log(3.0) - float(scale.min()), PRICES
    )
    ratio = curves.share_at(log_scale[:, None] + log_price[None, :], problem.busy[:, None])
    watts = np.empty((layout.job_count, PRICES + 2))
    watts[:, 0], watts[:, -1] = problem.top_w, problem.floor_w
    watts[:, 1:-1] = np.clip(
        ratio * problem.peak_w[:, None], problem.floor_w[:, None], problem.top_w[:, None]
    )
    speed = curves.speed(
        watts / problem.peak_w[:, None], np.repeat(problem.busy[:, None], PRICES + 2, axis=1)
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
