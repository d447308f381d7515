"""From a question to limits: floors, allocation and headroom of the jobs that are ours to steer."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.allocate import allocate
from easyrider_policy.core.floors import fitted, kept_floors, soft_floors
from easyrider_policy.core.headroom import with_headroom
from easyrider_policy.core.layout import Layout
from easyrider_policy.core.problem import Problem
from easyrider_policy.core.question import Question
from easyrider_policy.core.reasons import bindings
from easyrider_policy.core.solution import Solution

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


def solve(layout: Layout, question: Question, before: Solution | None = None) -> Solution:
    """The best limits, without pacing. `before`: the solution of the plan before on this layout.

    It stands if the question is the same; otherwise the search for prices begins at its own.
    """
    if before is not None and before.question.is_as(question):
        return before
    asked, steps = _problem(layout, question)
    floors = fitted(asked, steps[-1], question.room.held_back_w, question.pilots, steps[:-1])
    problem = replace(asked, floor_w=floors.watts)
    allocation = allocate(problem, None if before is None else before.allocation.own_price)
    limit_w = with_headroom(problem, allocation.watts, layout.max_w, question.stalled)
    return Solution(
        question=question,
        problem=problem,
        floors=floors,
        allocation=allocation,
        limit_w=limit_w,
        told=bindings(problem, floors, allocation, question.stalled),
    )


def _problem(layout: Layout, question: Question) -> tuple[Problem, tuple[Floats, ...]]:
    """The problem with the floors that jobs should have, and (J,) those they can be pushed to, step by step."""
    natural_w, stalled, loads = question.natural_w, question.stalled, question.loads
    top_w = np.clip(natural_w, layout.min_w, layout.max_w)
    if question.ceiling_w is not None:
        top_w = np.maximum(np.minimum(top_w, question.ceiling_w), layout.min_w)
    kept_w, clock_w = kept_floors(layout, natural_w, question.busy)
    steps = (soft_floors(layout, natural_w, question.busy), clock_w, layout.min_w)
    problem = Problem(
        layout=layout,
        loads=loads,
        boards=np.where(question.mine, layout.gpu_count, 0.0),
        peak_w=natural_w,
        busy=question.busy,
        floor_w=np.where(stalled, top_w, np.minimum(kept_w, top_w)),
        top_w=top_w,
        fallback_w=layout.fallback_w,
        drawn=loads.normal * drawn_share(layout, layout.pair_domain, layout.pair_job, question),
        drawn_at_leaf=loads.at_leaf * drawn_share(layout, layout.leaf_domain, layout.leaf_job, question),
        target_w=question.room.target_w,
        hard_w=question.room.hard_w,
    )
    pushed = tuple(np.where(stalled, top_w, np.minimum(step_w, top_w)) for step_w in steps)
    return problem, pushed


def drawn_share(layout: Layout, domain: Ints, job: Ints, question: Question) -> Floats:
    """Draw per watt of limit: the mean over ten seconds where the target is kept as such a mean.

    What is lent from a stalled job is lent everywhere, since it stays stalled until it is woken.
    """
    return np.where(layout.averaged[domain] | question.stalled[job], question.duty[job], 1.0)
