"""Prices made better where jobs span domains: each domain moves its own price by its own excess."""

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core import curves
from easyrider_policy.core.problem import Problem
from easyrider_policy.core.tally import tally

Floats = NDArray[np.float64]


def swept(
    problem: Problem, own: Floats, cost: Floats, budget_w: Floats, sweeps: int
) -> tuple[Floats, Floats]:
    """Prices (D,) and costs (J,) after `sweeps` passes, level by level, root first.

    A step is the excess over how fast the load falls with the price; the jobs' weights on one level sum to
    the whole job, so a step never over-shoots (diagonal dominance). A move is held to half of the price
    plus a little.
    """
    layout = problem.layout
    own, cost = own.copy(), cost.copy()
    worth = np.maximum(layout.weight * problem.boards, 1e-9)
    weight = problem.drawn
    whole = np.maximum(tally(layout.leaf_job, problem.drawn_at_leaf, layout.job_count), 1e-9)
    depth = np.zeros(layout.domain_count, dtype=np.int64)
    for height, level in enumerate(layout.levels):
        depth[level.rows] = len(layout.levels) - 1 - height
    groups = [np.flatnonzero(depth[layout.pair_domain] == d) for d in range(len(layout.levels))]
    small = 0.02 * float(own.max(initial=0.0)) + 1e-12
    for _ in range(sweeps):
        for level, pairs in zip(reversed(layout.levels), groups, strict=True):
            rows, jobs, a = layout.pair_domain[pairs], layout.pair_job[pairs], weight[pairs]
            log_marginal = np.log(np.maximum(cost * problem.peak_w / worth, 1e-12))
            share, fall = curves.share_and_fall(log_marginal, problem.busy)
            wanted = problem.peak_w * share
            taken = np.clip(np.where(cost > 0, wanted, problem.top_w), problem.floor_w, problem.top_w)
            fall_w = problem.peak_w * fall / np.maximum(cost, small * whole)
            size = layout.domain_count
            load = tally(rows, a * taken[jobs], size)
            give = tally(rows, a * (fall_w * whole)[jobs], size)
            mine = level.rows
            step = (load[mine] - budget_w[mine]) / np.maximum(give[mine], 1e-12)
            most = 0.5 * own[mine] + small
            new = np.maximum(0.0, own[mine] + np.clip(step, -most, most))
            moved = np.zeros(size)
            moved[mine] = new - own[mine]
            own[mine] = new
            cost += tally(jobs, a * moved[rows], layout.job_count)
    return own, np.maximum(cost, 0.0)
