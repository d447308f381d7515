"""Why each job's limit is what it is, in one word or with the domain that binds it."""

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.allocate import Allocation
from easyrider_policy.core.floors import Floors
from easyrider_policy.core.headroom import UNBOUND_SHARE
from easyrider_policy.core.layout import Layout
from easyrider_policy.core.problem import Problem
from easyrider_policy.core.solution import Solution

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

PACED_SHARE = 0.01
"""Of the device maximum: a limit that stands further from the best one is held back by pacing."""


def reasons(
    layout: Layout, solution: Solution, next_w: Floats, known: Bools, slowed_by: Ints | None = None
) -> tuple[str, ...]:
    """(J,) of natural, held, start, stalled, floor, pacing, not_ours, or <kind>:<domain>.

    Kinds are target, hard, ramp and infeasible. `next_w` is what comes of the limits, `known` whose peak was seen,
    `slowed_by` (J,) the domain whose ramp a raise waits for, -1: none.
    """
    late = np.abs(solution.limit_w - next_w) > PACED_SHARE * layout.max_w
    mine = solution.question.mine
    if known.all() and mine.all() and not late.any():
        return solution.told
    told = np.array(solution.told, dtype=object)
    told[~known & (told == "natural")] = "start"
    late &= ~_short(layout, solution.floors)
    told[late] = "pacing"
    if slowed_by is not None:
        slowed = np.flatnonzero(late & (slowed_by >= 0))
        told[slowed] = [f"ramp:{layout.fleet.domains[domain]}" for domain in slowed_by[slowed].tolist()]
    told[~mine] = "not_ours"
    return tuple(told.tolist())


def bindings(problem: Problem, floors: Floors, allocation: Allocation, stalled: Bools) -> tuple[str, ...]:
    """What binds each job (J,), pacing aside."""
    layout = problem.layout
    if not layout.job_count:
        return ()
    told = _named(layout, allocation, _binding(problem, allocation))
    free = allocation.watts >= UNBOUND_SHARE * problem.top_w
    told[free] = "natural"
    told[free & (problem.top_w < UNBOUND_SHARE * problem.peak_w)] = "held"  # by something else
    told[~free & ~floors.yielded & (allocation.watts <= problem.floor_w + 0.5)] = "floor"
    told[stalled] = "stalled"
    for domain in np.flatnonzero(floors.missing_w > 0):
        told[layout.pair_job[layout.pair_domain == domain]] = f"infeasible:{layout.fleet.domains[domain]}"
    return tuple(told.tolist())


def _named(layout: Layout, allocation: Allocation, domain: Ints) -> NDArray[np.object_]:
    """Of each job's domain (J,), its kind of limit and its name; words are made for those that occur."""
    some, place = np.unique(domain, return_inverse=True)
    kinds = np.where(allocation.hard_binds[some], "hard", "target").tolist()
    names = layout.fleet.domains
    words = [f"{kind}:{names[row]}" for kind, row in zip(kinds, some.tolist(), strict=True)]
    return np.array(words, dtype=object)[place]


def _short(layout: Layout, floors: Floors) -> Bools:
    """(J,) jobs below a domain that is over even at minimum."""
    short = np.zeros(layout.job_count, dtype=np.bool_)
    short[layout.pair_job[floors.missing_w[layout.pair_domain] > 0]] = True
    return short


def _binding(problem: Problem, allocation: Allocation) -> Ints:
    """The domain (J,) that makes each job's watts dearest; the fullest one where none has a price."""
    layout, own = problem.layout, allocation.own_price
    hard = allocation.hard_binds[layout.pair_domain]
    dear = own[layout.pair_domain] * np.where(hard, problem.loads.worst, problem.loads.normal)
    held = allocation.watts
    room_w = np.minimum(problem.target_w - problem.drawn_w(held), problem.hard_w - problem.held_w(held))
    fullness = -room_w / np.maximum(np.abs(problem.target_w), 1.0)
    least = dear.max(initial=0.0) * 1e-6
    # Prices decide; where a job pays none, the least room does, far below any price.
    score = np.where(dear > least, dear, 0.0)
    paid = np.maximum.reduceat(score[layout.by_job], layout.job_pair_start) > 0
    score = np.where(paid[layout.pair_job], score, fullness[layout.pair_domain])
    ordered = score[layout.by_job]
    best = np.maximum.reduceat(ordered, layout.job_pair_start)
    jobs = layout.pair_job[layout.by_job]
    place = np.where(ordered >= best[jobs], np.arange(len(ordered)), len(ordered))
    first = np.minimum.reduceat(place, layout.job_pair_start)
    result: Ints = layout.pair_domain[layout.by_job][first]
    return result
