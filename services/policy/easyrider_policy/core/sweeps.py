"""Prices made better where jobs span domains: each domain moves its own price by its own excess."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core import curves
from easyrider_policy.core.problem import Problem
from easyrider_policy.core.tally import tally
from easyrider_policy.core.weights import on_domains

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class _Group:
    """Pairs of one level: their domains, counted from 0, their jobs, what a job's watts weigh there."""

    rows: Ints  # (d,) domains of the level that have pairs
    start: Ints  # (d,) first pair of each
    place: Ints  # (p,)
    job: Ints  # (p,)
    weight: Floats  # (p,)
    whole: Floats  # (J,) what a job weighs on all of them


class Sweeper:
    """Passes over the levels of one problem, root first.

    A step is the excess over how fast the load falls with the prices of the level; each job counts with its
    weight on all that move there, so a step never over-shoots (diagonal dominance). Domains that have no price
    and are within their budget do not move, and are left out. A move is held to half of the price plus a little.
    """

    def __init__(self, problem: Problem, weight: Floats, budget_w: Floats) -> None:
        """`weight` (P,): wall watts per board watt against `budget_w` (D,)."""
        layout = problem.layout
        self._problem, self._weight, self._budget_w = problem, weight, budget_w
        worth = np.maximum(layout.weight * problem.boards, 1e-9)
        self._log_scale = np.log(problem.peak_w / worth)
        self._whole = np.maximum(tally(layout.leaf_job, problem.drawn_at_leaf, layout.job_count), 1e-9)
        self._depth = np.zeros(layout.domain_count, dtype=np.int64)
        for height, level in enumerate(layout.levels):
            self._depth[level.rows] = len(layout.levels) - height

    def swept(self, own: Floats, cost: Floats, sweeps: int) -> tuple[Floats, Floats]:
        """Prices (D,) and costs (J,) after so many passes."""
        own, cost = own.copy(), cost.copy()
        small = 0.02 * float(own.max(initial=0.0)) + 1e-12
        groups = self._moving(own, cost)
        least = small * self._whole
        for _ in range(sweeps):
            for group in groups:
                self._pass(group, own, cost, (small, least))
        return own, cost

    def _moving(self, own: Floats, cost: Floats) -> list[_Group]:
        problem, layout = self._problem, self._problem.layout
        moves = (own > 0) | (on_domains(layout, self._weight, self._taken(cost)[0]) > self._budget_w)
        depth = np.where(moves, self._depth, 0)[layout.pair_domain]
        found = []
        for level in range(1, len(layout.levels) + 1):
            pairs = np.flatnonzero(depth == level)  # sorted by domain
            if len(pairs):
                found.append(_group(problem, self._weight, pairs))
        return found

    def _taken(self, cost: Floats) -> tuple[Floats, Floats]:
        """Watts per board (J,) at these costs, and how fast they would fall with the logarithm of the cost."""
        problem = self._problem
        log_marginal = np.log(np.maximum(cost, 1e-12)) + self._log_scale
        share, fall = curves.share_and_fall(log_marginal, problem.busy)
        taken = np.maximum(np.minimum(problem.peak_w * share, problem.top_w), problem.floor_w)
        free = cost <= 0
        taken[free] = problem.top_w[free]
        return taken, problem.peak_w * fall

    def _pass(self, group: _Group, own: Floats, cost: Floats, small: tuple[float, Floats]) -> None:
        """One step of one level, in place."""
        taken, fall_w = self._taken(cost)
        fall_w *= group.whole / np.maximum(cost, small[1])
        both = np.empty((2, len(group.job)))
        np.multiply(group.weight, taken[group.job], out=both[0])
        np.multiply(group.weight, fall_w[group.job], out=both[1])
        load, give = np.add.reduceat(both, group.start, axis=1)
        before = own[group.rows]
        step = (load - self._budget_w[group.rows]) / np.maximum(give, 1e-12)
        most = 0.5 * before + small[0]
        after = np.maximum(0.0, before + np.minimum(np.maximum(step, -most), most))
        own[group.rows] = after
        moved = group.weight * (after - before)[group.place]
        cost += tally(group.job, moved, len(cost))
        np.maximum(cost, 0.0, out=cost)


def _group(problem: Problem, weights: Floats, pairs: Ints) -> _Group:
    layout = problem.layout
    domain, job, weight = layout.pair_domain[pairs], layout.pair_job[pairs], weights[pairs]
    first = np.flatnonzero(np.diff(domain, prepend=-1))
    place = np.repeat(np.arange(len(first)), np.diff(first, append=len(domain)))
    return _Group(domain[first], first, place, job, weight, tally(job, weight, layout.job_count))
