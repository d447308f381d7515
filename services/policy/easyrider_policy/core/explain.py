"""Which limit binds a job or a domain, what that costs, and what would free it: read off the last decision.

Prices are those of the plan: what one more wall watt below a domain is worth, in boards' worth of full speed, weighted
by priority. Nothing is planned anew.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.headroom import UNBOUND_SHARE
from easyrider_policy.core.records import Decision
from easyrider_policy.core.relief import Relief, gain_per_w, of_domain, of_job, pairs_of, weight_of
from easyrider_policy.core.solution import Solution
from easyrider_policy.core.ways import Act, Way, ways_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Limit = Literal["target", "hard"]

JOBS_NAMED: Final = 20
LEAST_W: Final = 0.5
"""A rise of less is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """One domain that binds. Wall watts; `price`: weighted boards' worth of speed that one more watt there buys."""

    domain: str
    limit: Limit
    price: float
    rise_w: float  # of room below it, until what is explained takes all it can use


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What is lost and taken. Watts by which the limit is below what would be drawn."""

    slowdown: float  # share of full speed that is lost, 0..1
    lost_boards: float  # the same in boards' worth of full speed
    taken_board_w: float  # over all boards
    taken_wall_w: float  # the same at the wall
    speed_per_board_w: float  # share of speed that one more watt on each of its boards gives


@dataclass(frozen=True, slots=True, kw_only=True)
class JobExplained:
    """One job: what binds it, dearest first, at what cost, and what would free it."""

    binds: tuple[Binding, ...]
    cost: Cost
    frees: tuple[Way, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundJob:
    """A job that a domain binds. Wall watts that it would draw there beyond what it may."""

    job: str
    slowdown: float
    taken_wall_w: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainExplained:
    """One domain: whether it binds, whom, at what cost, and how far it would have to rise to bind nobody."""

    binds: Binding | None
    bound_jobs: int
    jobs: tuple[BoundJob, ...]  # those that lose most watts
    lost_boards: float
    lost_weighted: float  # the same by priority
    taken_wall_w: float
    missing_w: float  # above 0: infeasible by so much, even at minimum limits
    frees: tuple[Way, ...]


def job(decision: Decision, solution: Solution, row: int, reasons: Iterable[str]) -> JobExplained:
    """A job by its row in the plan. `reasons`: all that is told of its limit and of raises that wait."""
    problem, taken = solution.problem, solution.allocation.watts
    frees = [way for reason in dict.fromkeys(reasons) for way in ways_of(reason)]
    bound = solution.question.mine[row] and not solution.question.stalled[row]
    bound = bound and taken[row] < UNBOUND_SHARE * problem.top_w[row]
    binds: tuple[Binding, ...] = ()
    if bound:
        relief = of_job(problem, solution.allocation, row)
        pairs = pairs_of(problem, row)
        places = problem.layout.pair_domain[pairs]
        paid = solution.allocation.own_price[places] * weight_of(problem, solution.allocation)[pairs]
        binds = tuple(
            _binding(solution, place, relief)
            for place, price in sorted(
                zip(places.tolist(), paid.tolist(), strict=True), key=lambda one: -one[1]
            )
            if price > 0 or solution.told[row].endswith(f":{problem.layout.fleet.domains[place]}")
        )
        frees = [way for place in places.tolist() for way in _rises(solution, place, relief)] + frees
    short_w = max(0.0, float(decision.demand_w[row] - decision.job_limit_w[row]))
    slowdown = _share(decision.slowdown[row])
    return JobExplained(
        binds=binds,
        cost=Cost(
            slowdown=slowdown,
            lost_boards=slowdown * float(problem.layout.gpu_count[row]),
            taken_board_w=short_w * float(problem.layout.gpu_count[row]),
            taken_wall_w=short_w * float(problem.loads.per_job[row]),
            speed_per_board_w=float(gain_per_w(problem, taken)[row]),
        ),
        frees=tuple(frees),
    )


def domain(decision: Decision, solution: Solution, row: int, reasons: Iterable[str]) -> DomainExplained:
    """A domain by its row. `reasons`: what lowers its target and what stops raises below it."""
    problem, allocation = solution.problem, solution.allocation
    layout, name = problem.layout, problem.layout.fleet.domains[row]
    missing_w = max(0.0, float(decision.missing_w[row]))
    pairs = np.flatnonzero(layout.pair_domain == row)
    pairs = pairs[_bound(solution, pairs, name)]
    jobs = layout.pair_job[pairs]
    short_w = np.maximum(0.0, problem.top_w[jobs] - allocation.watts[jobs])
    taken_w = short_w * weight_of(problem, allocation)[pairs]
    lost = np.clip(decision.slowdown[jobs], 0.0, 1.0) * layout.gpu_count[jobs]
    binds, frees = None, [way for reason in dict.fromkeys(reasons) for way in ways_of(reason)]
    if len(pairs):
        relief = of_domain(problem, allocation, row)
        binds = _binding(solution, row, relief)
        frees = [*_rises(solution, row, relief), *frees]
    if missing_w > 0:
        (least,) = ways_of(f"infeasible:{name}")
        frees.append(Way(act=least.act, place=name, says=least.says, by_w=missing_w))
    most = np.argsort(-taken_w, kind="stable")[:JOBS_NAMED].tolist()
    return DomainExplained(
        binds=binds,
        bound_jobs=len(pairs),
        jobs=tuple(
            BoundJob(
                job=layout.jobs[jobs[at]].id,
                slowdown=_share(decision.slowdown[jobs[at]]),
                taken_wall_w=float(taken_w[at]),
            )
            for at in most
        ),
        lost_boards=float(lost.sum()),
        lost_weighted=float((layout.weight[jobs] * lost).sum()),
        taken_wall_w=float(taken_w.sum()),
        missing_w=missing_w,
        frees=tuple(frees),
    )


def _bound(solution: Solution, pairs: Ints, name: str) -> NDArray[np.bool_]:
    """Which of these pairs of one domain are of jobs that pay its price, or are told that it binds them."""
    problem, allocation = solution.problem, solution.allocation
    jobs = problem.layout.pair_job[pairs]
    short = allocation.watts[jobs] < UNBOUND_SHARE * problem.top_w[jobs]
    short &= solution.question.mine[jobs] & ~solution.question.stalled[jobs]
    paid = allocation.own_price[problem.layout.pair_domain[pairs]] * weight_of(problem, allocation)[pairs] > 0
    named = {f"{kind}:{name}" for kind in ("target", "hard", "infeasible")}
    told = np.array([solution.told[row] in named for row in jobs.tolist()], dtype=np.bool_)
    return short & (paid | told)


def _binding(solution: Solution, place: int, relief: Relief) -> Binding:
    hard = bool(solution.allocation.hard_binds[place])
    return Binding(
        domain=solution.problem.layout.fleet.domains[place],
        limit="hard" if hard else "target",
        price=float(solution.allocation.own_price[place]),
        rise_w=float((relief.hard_w if hard else relief.target_w)[place]),
    )


def _rises(solution: Solution, place: int, relief: Relief) -> list[Way]:
    """Limits of one domain that would have to rise; both, where the other would bind next."""
    name = solution.problem.layout.fleet.domains[place]
    kinds: tuple[tuple[Act, Floats, str], ...] = (
        ("raise_target", relief.target_w, "the target of this domain, or less drawn below it by others"),
        (
            "raise_hard_limit",
            relief.hard_w,
            "the hard limit of this domain, or less that could be drawn below it",
        ),
    )
    return [
        Way(act=act, place=name, says=says, by_w=float(rise_w[place]))
        for act, rise_w, says in kinds
        if rise_w[place] > LEAST_W
    ]


def _share(slowdown: float) -> float:
    return min(1.0, max(0.0, float(slowdown)))
