"""From what was seen to limits: floors, allocation and headroom of the jobs that are ours to steer."""

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.allocate import allocate
from easyrider_policy.core.budgets import Budgets
from easyrider_policy.core.floors import fitted, soft_floors
from easyrider_policy.core.headroom import with_headroom
from easyrider_policy.core.layout import Layout
from easyrider_policy.core.observe import Observation
from easyrider_policy.core.problem import Problem
from easyrider_policy.core.solution import Solution
from easyrider_policy.core.stalls import CAP_PER_DRAW
from easyrider_policy.core.weights import Loads

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

GRAIN_W = 5.0


def solve(
    observation: Observation,
    weighed: Loads,
    room: Budgets,
    ours: Bools,
    jobs: Bools,
    before: Solution | None = None,
    ceiling_w: Floats | None = None,
) -> Solution:
    """The best limits for jobs (J,) `jobs` on boards (G,) `ours`, without pacing. `before`: the
    solution of the plan before on this layout, which stands if nothing was asked anew. `ceiling_w`
    (J,): what others let a job have at most.
    """
    problem, least_w, stalled, mine = _problem(observation, weighed, room, ours, jobs, ceiling_w)
    if before is not None and _same(before, problem, stalled, mine):
        return before
    asked = problem
    floors = fitted(problem, least_w, room.held_back_w)
    problem = _lowered(problem, floors.watts)
    allocation = allocate(problem, None if before is None else before.allocation.own_price)
    limit_w = with_headroom(problem, allocation.watts, observation.layout.max_w, stalled)
    return Solution(
        problem=problem,
        floors=floors,
        allocation=allocation,
        limit_w=limit_w,
        stalled=stalled,
        ours=mine,
        asked=asked,
    )


def natural_w(observation: Observation) -> tuple[Floats, Floats, Bools]:
    """(J,) watts per board beyond which a limit binds nobody, mean draw per watt of it, and who is stalled.

    A stalled job is lent from: it counts as its own draw and may reach 1.25 times that.
    """
    layout, peak_w = observation.layout, observation.peak_w
    # Upwards in whole steps, so that a few watts of noise ask for no new plan.
    draw_w = np.ceil(observation.draw_w / GRAIN_W) * GRAIN_W
    stalled = observation.stalls.stalled & np.isfinite(draw_w)
    if not stalled.any():
        return np.maximum(peak_w, layout.min_w), observation.duty.duty, stalled
    lent_w = np.maximum(CAP_PER_DRAW * np.where(stalled, draw_w, 0.0), layout.min_w)
    natural = np.where(stalled, np.minimum(lent_w, layout.max_w), np.maximum(peak_w, layout.min_w))
    duty = np.where(stalled, np.where(stalled, draw_w, 1.0) / natural, observation.duty.duty)
    return natural, np.minimum(duty, 1.0), stalled


def _same(before: Solution, problem: Problem, stalled: Bools, mine: Bools) -> bool:
    """Whether this very question was answered by the plan before."""
    asked = before.asked
    return (
        asked.loads is problem.loads
        and np.array_equal(asked.target_w, problem.target_w)
        and np.array_equal(asked.hard_w, problem.hard_w)
        and np.array_equal(asked.peak_w, problem.peak_w)
        and np.array_equal(asked.top_w, problem.top_w)
        and np.array_equal(asked.busy, problem.busy)
        and np.array_equal(asked.drawn, problem.drawn)
        and np.array_equal(before.stalled, stalled)
        and np.array_equal(before.ours, mine)
    )


def _problem(
    observation: Observation,
    weighed: Loads,
    room: Budgets,
    ours: Bools,
    jobs: Bools,
    ceiling_w: Floats | None,
) -> tuple[Problem, Floats, Bools, Bools]:
    layout = observation.layout
    natural, duty, stalled = natural_w(observation)
    if layout.job_count:
        mine = jobs & np.logical_or.reduceat(ours[layout.seat], layout.job_start)
        fallback_w = _fallback(layout.fleet.fallback_w[layout.fleet.gpu_node[layout.seat]], layout.job_start)
    else:
        mine, fallback_w = np.zeros(0, dtype=np.bool_), np.zeros(0)
    top_w = np.clip(natural, layout.min_w, layout.max_w)
    if ceiling_w is not None:
        top_w = np.maximum(np.minimum(top_w, ceiling_w), layout.min_w)
    floor_w = np.minimum(soft_floors(layout, natural, observation.busy.classes), top_w)
    floor_w = np.where(stalled, top_w, floor_w)
    least_w = np.where(stalled, top_w, np.minimum(layout.min_w, top_w))
    problem = Problem(
        layout=layout,
        loads=weighed,
        boards=np.where(mine, layout.gpu_count, 0.0),
        peak_w=natural,
        busy=observation.busy.classes,
        floor_w=floor_w,
        top_w=top_w,
        fallback_w=fallback_w,
        drawn=weighed.normal * _share(layout, layout.pair_domain, layout.pair_job, duty, stalled),
        drawn_at_leaf=weighed.at_leaf * _share(layout, layout.leaf_domain, layout.leaf_job, duty, stalled),
        target_w=room.target_w,
        hard_w=room.hard_w,
    )
    return problem, least_w, stalled, mine


def _share(layout: Layout, domain: Ints, job: Ints, duty: Floats, stalled: Bools) -> Floats:
    """Draw per watt of limit: the mean over ten seconds where the target is kept as such a mean.

    What is lent from a stalled job is lent everywhere, since it stays stalled until it is woken.
    """
    return np.where(layout.averaged[domain] | stalled[job], duty[job], 1.0)


def _fallback(seat_w: Floats, start: Ints) -> Floats:
    """The mean among a job's boards: what the job counts at least, whatever its limit."""
    sizes = np.diff(np.append(start, len(seat_w)))
    return np.asarray(np.add.reduceat(seat_w, start) / sizes, dtype=np.float64)


def _lowered(problem: Problem, floor_w: Floats) -> Problem:
    if problem.floor_w is floor_w:
        return problem
    return Problem(
        layout=problem.layout,
        loads=problem.loads,
        boards=problem.boards,
        peak_w=problem.peak_w,
        busy=problem.busy,
        floor_w=floor_w,
        top_w=problem.top_w,
        fallback_w=problem.fallback_w,
        drawn=problem.drawn,
        drawn_at_leaf=problem.drawn_at_leaf,
        target_w=problem.target_w,
        hard_w=problem.hard_w,
    )
