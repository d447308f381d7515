"""Watts per board of every job: least weighted slowdown under nested budgets, with a certificate of the gap."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core import curves
from easyrider_policy.core.polish import FEW_JOBS, polished
from easyrider_policy.core.presolve import lonely, reduced
from easyrider_policy.core.prices import path_prices
from easyrider_policy.core.problem import Problem
from easyrider_policy.core.repair import FILLS, repaired
from easyrider_policy.core.sweeps import Sweeper
from easyrider_policy.core.tally import tally
from easyrider_policy.core.weights import on_domains

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

GOOD_ENOUGH = 0.003
SWEEPS = 5
WARM_SWEEPS = 2
ROUNDS = 30
LOOK_EVERY = 8
STUCK = 0.97
"""So many rounds that leave more of the gap than this are the last."""
LARGE = 1_000
"""From so many jobs on, less is asked: there the gap is small and time is dear."""
LARGE_ENOUGH = 0.005
LARGE_ROUNDS = 3
LARGE_FILLS = 2


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
    """The one limit of each domain that is looked at: the one that everybody at the top would break by most.

    (P,) what a watt of a job weighs on it, (D,) that limit, where it is the hard one, and by how much watts that
    count there are fewer or more than drawn ones.
    """

    weight: Floats
    budget_w: Floats
    hard: Bools
    ratio: Floats


def allocate(problem: Problem, warm_own: Floats | None = None) -> Allocation:
    """The best watts found. The floors must fit the budgets. `warm_own` (D,): prices of a like problem before."""
    small = reduced(problem)
    search = _Search(small.problem)
    if warm_own is not None and _spans(small.problem):
        search.sweep(np.where(small.keep, warm_own, 0.0), WARM_SWEEPS)
    if not search.done:
        search.from_cold()
    if not search.done and small.problem.layout.job_count < FEW_JOBS:
        search.polish()
    own, hard_binds = lonely(problem, small, search.watts, search.cost, (search.own, search.hard))
    return Allocation(watts=search.watts, own_price=own, hard_binds=hard_binds, gap=search.gap)


class _Search:
    """The best watts of one problem so far, and the least that bounds them."""

    def __init__(self, problem: Problem) -> None:
        self._problem, self._limits = problem, _limits(problem)
        self._sweeper = Sweeper(problem, self._limits.weight, self._limits.budget_w)
        self.hard = self._limits.hard
        self.watts, self._value, self._bound = problem.top_w, -np.inf, np.inf
        self.own, self.cost = np.zeros(problem.layout.domain_count), np.zeros(problem.layout.job_count)
        self._large = problem.layout.job_count >= LARGE

    @property
    def gap(self) -> float:
        return _gap(self._problem, self._value, self._bound) if np.isfinite(self._bound) else np.inf

    @property
    def done(self) -> bool:
        return self.gap <= (LARGE_ENOUGH if self._large else GOOD_ENOUGH)

    def look(self, own: Floats, cost: Floats) -> None:
        """Take the watts of these prices (D,), by what they cost each job (J,)."""
        best_w = at_cost(self._problem, cost)
        watts = repaired(self._problem, best_w, LARGE_FILLS if self._large else FILLS)
        value = self._problem.value(watts)
        if value > self._value:
            self.watts, self._value, self.own, self.cost = watts, value, own, cost
        self._bound = min(self._bound, _bound(self._problem, self._limits, (own, cost, best_w)))

    def sweep(self, own: Floats, sweeps: int) -> tuple[Floats, Floats]:
        """From these prices to better ones (D,), and what they cost each job (J,)."""
        found = self._sweeper.swept(own, _cost(self._problem, self._limits, own), sweeps)
        self.look(*found)
        return found

    def from_cold(self) -> None:
        """From path prices, which are exact where no job spans domains; with sweeps where some do."""
        own = path_prices(self._problem, self._limits.budget_w * self._limits.ratio).own * self._limits.ratio
        if not own.any() or not _spans(self._problem):
            self.look(own, _cost(self._problem, self._limits, own))
            if self.done or not own.any():
                return
        before = np.inf
        for turn in range(1, 1 + (LARGE_ROUNDS if self._large else ROUNDS)):
            own, _ = self.sweep(own, SWEEPS)
            if self.done:
                return
            if turn % LOOK_EVERY == 0:
                if self.gap > STUCK * before:
                    return
                before = self.gap

    def polish(self) -> None:
        """Hand out watts step by step from several beginnings."""
        for watts in polished(self._problem, self.watts, self.cost):
            value = self._problem.value(watts)
            if value > self._value:
                self.watts, self._value = watts, value


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


def _cost(problem: Problem, limits: _Limits, own: Floats) -> Floats:
    layout = problem.layout
    return tally(layout.pair_job, own[layout.pair_domain] * limits.weight, layout.job_count)


def _limits(problem: Problem) -> _Limits:
    """A price on a hard limit is paid for what counts there, not for draw: jobs on two feeds weigh unlike on both."""
    layout, drawn, worst = problem.layout, problem.drawn, problem.loads.worst
    drawn_w, held_w = problem.drawn_w(problem.top_w), problem.held_w(problem.top_w)
    ratio = np.where(held_w > 0, drawn_w / np.where(held_w > 0, held_w, 1.0), 1.0)
    hard = problem.hard_w * ratio < problem.target_w
    # Floors that do not fit are met all the same.
    if not hard.any():
        budget_w = np.maximum(problem.target_w, problem.drawn_w(problem.floor_w))
        return _Limits(drawn, budget_w, hard, np.ones_like(ratio))
    weight = np.where(hard[layout.pair_domain], worst, drawn)
    budget_w = np.where(hard, problem.hard_w, problem.target_w)
    budget_w = np.maximum(budget_w, on_domains(layout, weight, problem.floor_w))
    return _Limits(weight, budget_w, hard, np.where(hard, ratio, 1.0))


def _bound(problem: Problem, limits: _Limits, at: tuple[Floats, Floats, Floats]) -> float:
    """What no sharing within these limits can exceed: the Lagrangian of prices, their costs and watts at them."""
    own, cost, best_w = at
    priced = float((own * limits.budget_w).sum()) - float((cost * best_w).sum())
    return min(problem.value(best_w) + priced, problem.most())


def _gap(problem: Problem, value: float, bound: float) -> float:
    """(bound - value) / (most - bound): the share of the lost work that a better sharing might save."""
    most = problem.most()
    lost = max(most - bound, 1e-9 * max(most, 1.0))
    return max(0.0, bound - value) / lost
