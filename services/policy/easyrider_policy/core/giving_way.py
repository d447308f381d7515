"""What those who wake get, and who gives way to them: a plan of their own domains, made while the whole one stands.

A job whose watts were lent out wants them back at once. On a large site a plan of everything takes longer than that
can wait, and hardly any of it is concerned. So limits are sought for the jobs of those domains alone that would be
over; all others count what they hold or are to get, and the rooms are those of the last whole plan, which is never
older than a control period. Nothing is lent and nothing redistributed here: that is left to the next whole plan.
"""

from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from easyrider.tree import Pacing
from easyrider_policy.core import curves
from easyrider_policy.core.budgets import Budgets
from easyrider_policy.core.history import MOVED_W
from easyrider_policy.core.observe import Observation
from easyrider_policy.core.pacing import TOLERANCE_SHARE, TOLERANCE_W, Moves, counts, paced
from easyrider_policy.core.part import Part, part
from easyrider_policy.core.pilots import PilotFloors
from easyrider_policy.core.problem import Problem
from easyrider_policy.core.question import Question, ask
from easyrider_policy.core.reasons import reasons
from easyrider_policy.core.records import LONG_AGO, Decision, Memory
from easyrider_policy.core.situation import Situation
from easyrider_policy.core.solution import Solution
from easyrider_policy.core.solve import drawn_share, solve
from easyrider_policy.core.weights import on_domains

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

MOST_SHARE: Final = 0.125
"""Of all jobs: from so many concerned on, the whole plan costs little more and sees more."""


def given_way(
    observation: Observation, situation: Situation, decision: Decision, woken: Ints, pacing: Pacing
) -> Decision | None:
    """The decision with limits of `woken` jobs and of those that give way to them; None: only a whole plan can tell.

    `situation` is that of the last whole plan with `now_s` and `limit_w` of this moment.
    """
    layout, memory = observation.layout, decision.memory
    before, ours = memory.solution, memory.loads_steered
    if before is None or ours is None or memory.loads_layout is not layout:
        return None
    if np.isfinite(layout.fleet.ramp_w_per_s).any() or (situation.holds is not None and situation.holds.any):
        return None  # who may open how far is a matter of everybody below
    woken = woken[before.question.mine[woken] & ~observation.stalls.stalled[woken]]
    if not len(woken):
        return decision  # of jobs that are not ours nothing was lent
    counted = _counted(observation, situation, decision, before, ours)
    jobs = _concerned(counted, woken)
    if len(jobs) > max(len(woken), MOST_SHARE * layout.job_count):
        return None
    few = part(layout, jobs)
    solution = solve(few.layout, _question(few, counted))
    moves = _moves(observation, situation, memory, ours[few.layout.seat], few, solution, pacing)
    return _with(observation, decision, before, few, solution, paced(solution.problem, moves, pacing))


class _Counted(NamedTuple):
    """All jobs as they count now, watts per board (J,)."""

    question: Question  # of this moment, with the rooms of the last whole plan
    problem: Problem  # of the last whole plan; a watt weighs what it does then or now, the more of both
    drawn: Floats  # (P,) what it weighs now
    natural_w: Floats  # as the last plan took it or as it is now, the higher
    held_w: Floats  # what is asked of the lowest board; where none is ours, what it would get
    counted_w: Floats  # the same, or what it is to be raised to

    def brings_w(self, per_board_w: Floats) -> Floats:
        """Wall watts (D,) against targets, at these limits."""
        return counts(self.problem, self.natural_w, per_board_w)


def _counted(
    observation: Observation, situation: Situation, decision: Decision, before: Solution, ours: Bools
) -> _Counted:
    layout, asked = observation.layout, before.question
    now = ask(
        observation, asked.loads, asked.room, ours, layout.controlled, asked.ceiling_w, None, asked.pilots
    )
    drawn = asked.loads.normal * drawn_share(layout, layout.pair_domain, layout.pair_job, now)
    mine_w = np.where(ours, situation.limit_w, np.inf)[layout.seat]
    lowest_w = np.minimum.reduceat(mine_w, layout.job_start)
    held_w = np.where(np.isfinite(lowest_w), lowest_w, decision.job_limit_w)
    return _Counted(
        question=now,
        problem=replace(before.problem, drawn=np.maximum(before.problem.drawn, drawn)),
        drawn=drawn,
        natural_w=np.maximum(asked.natural_w, now.natural_w),
        held_w=held_w,
        counted_w=np.fmax(held_w, decision.job_limit_w),
    )


def _concerned(counted: _Counted, woken: Ints) -> Ints:
    """The woken, and all jobs of those of their domains that would be over if they drew what they can."""
    problem, room = counted.problem, counted.question.room
    layout, wish_w = problem.layout, counted.counted_w.copy()
    wish_w[woken] = np.maximum(wish_w[woken], counted.natural_w[woken])
    tolerance_w = np.minimum(TOLERANCE_W, TOLERANCE_SHARE * np.maximum(room.target_w, 0.0))
    over = counted.brings_w(wish_w) > room.target_w + tolerance_w
    over |= problem.held_w(wish_w) > room.hard_w + 1e-6
    concerned = _rows(woken, layout.job_count)
    met = np.zeros(layout.domain_count, dtype=np.bool_)
    met[layout.pair_domain[concerned[layout.pair_job]]] = True
    concerned[layout.pair_job[(over & met)[layout.pair_domain]]] = True
    return np.flatnonzero(concerned & counted.question.mine)


def _question(few: Part, counted: _Counted) -> Question:
    """What is left to these jobs beside all others; never less than they hold now, for what others do."""
    whole, jobs, problem = counted.question, few.jobs, counted.problem
    room, drawn, worst = whole.room, counted.drawn[few.pairs], problem.loads.worst[few.pairs]
    others_w = counted.counted_w.copy()
    others_w[jobs] = 0.0
    here_w = on_domains(few.layout, drawn, np.minimum(counted.held_w, whole.natural_w)[jobs])
    # What counts against hard limits is never below a fallback, so the others there are what these leave.
    least_w = problem.fallback_w[jobs]
    here_held_w = on_domains(few.layout, worst, np.maximum(counted.held_w[jobs], least_w))
    of_these_w = on_domains(few.layout, worst, np.maximum(counted.counted_w[jobs], least_w))
    beside_w = problem.held_w(counted.counted_w) - of_these_w
    return Question(
        loads=few.loads(whole.loads),
        room=Budgets(
            target_w=np.maximum(room.target_w - counted.brings_w(others_w), here_w),
            hard_w=np.maximum(room.hard_w - beside_w, here_held_w),
            held_back_w=room.held_back_w,
        ),
        natural_w=whole.natural_w[jobs],
        duty=whole.duty[jobs],
        busy=whole.busy[jobs],
        stalled=whole.stalled[jobs],
        mine=whole.mine[jobs],
        ceiling_w=None if whole.ceiling_w is None else whole.ceiling_w[jobs],
        pilots=None if whole.pilots is None else PilotFloors(whole.pilots.watts[jobs], whole.pilots.closed),
    )


def _rows(jobs: Ints, count: int) -> Bools:
    marked = np.zeros(count, dtype=np.bool_)
    marked[jobs] = True
    return marked


def _moves(
    observation: Observation,
    situation: Situation,
    memory: Memory,
    mine: Bools,
    few: Part,
    solution: Solution,
    pacing: Pacing,
) -> Moves:
    """What pacing must know of these jobs, with `mine` of their seats; what moved since the last plan moved now."""
    layout, jobs, now_s = few.layout, few.jobs, situation.now_s
    seat, begin = layout.seat, layout.job_start
    limit_w = situation.limit_w[seat]
    lowest_w = np.minimum.reduceat(np.where(mine, limit_w, np.inf), begin)
    with np.errstate(invalid="ignore"):
        change_w = limit_w - memory.limit_w[seat]
        changed_s = np.where(np.abs(change_w) > MOVED_W, now_s, memory.changed_s[seat])
        lowered_s = np.where(change_w < -MOVED_W, now_s, memory.lowered_s[seat])
    held = np.logical_or.reduceat(observation.limiters.other[seat] & mine, begin)
    fresh = now_s - layout.started_s < pacing.start_exempt_s
    fresh |= now_s - observation.stalls.woke_s[jobs] < pacing.wake_exempt_s
    peak_w = solution.problem.peak_w
    return Moves(
        old_w=np.where(np.isfinite(lowest_w), lowest_w, solution.limit_w),
        wished_w=solution.limit_w,
        natural_w=peak_w,
        binds_w=np.where(solution.question.stalled, observation.draw_w[jobs], peak_w),
        rating_w=layout.max_w,
        changed_ago_s=now_s - np.maximum.reduceat(np.where(mine, changed_s, LONG_AGO), begin),
        lowered_ago_s=now_s - np.maximum.reduceat(np.where(mine, lowered_s, LONG_AGO), begin),
        fresh=fresh & ~held,
        movable=solution.question.mine,
        held=held,
    )


def _with(
    observation: Observation,
    decision: Decision,
    before: Solution,
    few: Part,
    solution: Solution,
    next_w: Floats,
) -> Decision:
    """The decision with these jobs as they are to be now."""
    layout, jobs, problem = few.layout, few.jobs, solution.problem
    steered = decision.memory.loads_steered
    boards = layout.seat if steered is None else layout.seat[steered[layout.seat]]
    wanted_w, fleet = decision.wanted_w.copy(), layout.fleet
    wanted_w[boards] = np.clip(next_w[layout.job_of[boards]], fleet.min_w[boards], fleet.max_w[boards])
    speed = curves.speed(np.minimum(next_w, problem.peak_w) / problem.peak_w, problem.busy)
    told = list(decision.reasons)
    why = reasons(layout, solution, next_w, observation.peaks.known[jobs])
    for job, reason in zip(jobs.tolist(), why, strict=True):
        told[job] = reason
    # One that was lent from brought what it draws while it waits.
    waited = decision.stalled[jobs][layout.pair_job]
    drawn = np.where(waited, before.problem.drawn[few.pairs], problem.drawn)
    peak_w = np.where(decision.stalled[jobs], before.problem.peak_w[jobs], problem.peak_w)
    brought_w = on_domains(layout, drawn, np.minimum(decision.job_limit_w[jobs], peak_w))
    return replace(
        decision,
        wanted_w=wanted_w,
        job_limit_w=_put(decision.job_limit_w, jobs, next_w),
        best_w=_put(decision.best_w, jobs, solution.limit_w),
        demand_w=_put(decision.demand_w, jobs, observation.peak_w[jobs]),
        slowdown=_put(decision.slowdown, jobs, np.where(solution.question.stalled, 0.0, 1.0 - speed)),
        stalled=_put(decision.stalled, jobs, observation.stalls.stalled[jobs]),
        reasons=tuple(told),
        reckoned_w=decision.reckoned_w + counts(problem, problem.peak_w, next_w) - brought_w,
    )


def _put(column: NDArray[Any], jobs: Ints, values: NDArray[Any]) -> NDArray[Any]:
    changed = column.copy()
    changed[jobs] = values
    return changed
