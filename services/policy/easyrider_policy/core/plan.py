"""The plan: every limit, its reason, and what the next plan must remember. No clock, no client, no log."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from easyrider.tree import Pacing
from easyrider_policy.core import curves, foreseen, history, holds, ramps
from easyrider_policy.core.budgets import budgets, others_w
from easyrider_policy.core.ceilings import ceilings, kept_back
from easyrider_policy.core.crossing import ceiling_w
from easyrider_policy.core.observe import Observation
from easyrider_policy.core.overshoot import MOST
from easyrider_policy.core.pacing import Moves, counts, paced, stands
from easyrider_policy.core.pilots import pilot_floors
from easyrider_policy.core.question import ask
from easyrider_policy.core.ramps import Opened, opened
from easyrider_policy.core.reasons import reasons
from easyrider_policy.core.records import Decision, Memory, Situation
from easyrider_policy.core.solution import Solution
from easyrider_policy.core.solve import solve
from easyrider_policy.core.walls import Walls
from easyrider_policy.core.weights import Loads, loads

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def plan(
    observation: Observation, walls: Walls, situation: Situation, memory: Memory, pacing: Pacing
) -> Decision:
    """Limits for the next period: least weighted slowdown within every limit, moved as fast as pacing allows.

    `observation` and `walls` are read only. Boards that are not steered get no limit; their jobs are shown
    what they would get if they were.
    """
    layout = observation.layout
    steered = situation.steered & np.isfinite(situation.limit_w)
    in_job = layout.job_of >= 0
    ours = steered & in_job
    if layout.job_count:
        ours &= layout.controlled[layout.job_of]
    changed_s, lowered_s = history.moves(memory, situation)
    reactive, doubt_s = history.reactive(memory, situation)
    urgent = history.emergencies(layout.fleet, walls, situation, memory, lowered_s)
    weighed = _weighed(observation, memory, ours)
    elapsed_s, ramp = max(0.0, situation.now_s - memory.last_s), layout.fleet.ramp_w_per_s
    eased_w = ramps.eased_w(memory.eased_w, situation.target_w, ramp, elapsed_s)
    eased = replace(situation, target_w=eased_w)
    penalty_w = urgent.penalty_w
    if not reactive:
        standing_w = walls.standing_w(situation.unmanaged_target_w)
        penalty_w = np.maximum(penalty_w, foreseen.kept_back_w(situation.ahead_w, standing_w, eased_w))
    room = budgets(observation, walls, eased, ours, penalty_w, reactive)
    before = memory.solution if memory.loads_layout is layout else None
    held, held_why = holds.job_rows(layout, situation.holds or holds.nobody(layout.fleet))
    held, held_why = kept_back(observation, ours, held, held_why)
    most_w = holds.lower_of(
        ceilings(observation, situation, changed_s, ours), holds.lowest_w(layout, situation.limit_w, held)
    )
    most_w = holds.lower_of(most_w, ceiling_w(situation.echo, np.maximum(observation.peak_w, layout.min_w)))
    pilots = pilot_floors(layout, situation.pilot_floor_w, situation.closed)
    question = ask(observation, weighed, room, ours, layout.controlled, most_w, held, pilots)
    live = solve(layout, question, before)
    spare_w = ramps.refilled_w(memory.spare_w, ramp, elapsed_s, pacing.change_interval_s)
    opens = _paced(observation, situation, live, (changed_s, lowered_s), ours, pacing, held, spare_w)
    next_w = opens.limit_w
    why = holds.said(reasons(layout, live, next_w, observation.peaks.known, opens.slowed_by), held_why)
    reckoned_w = counts(live.problem, live.problem.peak_w, next_w) + others_w(observation, situation, ours)
    best_w = live.limit_w
    mine = question.mine
    if not mine.all():
        shown_w = _as_if(observation, walls, eased, penalty_w, reactive)
        next_w, best_w = np.where(mine, next_w, shown_w), np.where(mine, best_w, shown_w)
    wanted_w = np.full(len(steered), np.nan)
    idle = steered & ~in_job
    wanted_w[idle] = layout.fleet.min_w[idle]
    wanted_w[ours] = np.clip(next_w[layout.job_of[ours]], layout.fleet.min_w[ours], layout.fleet.max_w[ours])
    return Decision(
        wanted_w=wanted_w,
        job_limit_w=next_w,
        best_w=best_w,
        demand_w=observation.peak_w,
        slowdown=_slowdown(live, next_w),
        stalled=observation.stalls.stalled.copy(),
        reasons=why,
        budget_w=np.maximum(np.minimum(room.target_w, room.hard_w), 0.0)
        / _slope(layout.fleet.overhead_slope),
        observed_w=walls.board_part_w + walls.standing_w(situation.unmanaged_target_w),
        price=live.allocation.own_price,
        missing_w=live.floors.missing_w,
        reckoned_w=reckoned_w,
        alarm=urgent.alarm,
        reactive=reactive,
        gap=live.allocation.gap,
        memory=Memory(
            last_s=situation.now_s,
            limit_w=situation.limit_w,
            changed_s=changed_s,
            lowered_s=lowered_s,
            penalty_w=urgent.penalty_w,
            alarm_for_s=urgent.alarm_for_s,
            acted_ago_s=urgent.acted_ago_s,
            target_w=situation.target_w,
            eased_w=eased_w,
            spare_w=spare_w - opens.taken_w,
            reactive=reactive,
            doubt_s=doubt_s,
            solution=live,
            loads=weighed,
            loads_layout=layout,
            loads_steered=ours,
            loads_version=observation.overshoot.version,
        ),
    )


def _weighed(observation: Observation, memory: Memory, ours: Bools) -> Loads:
    """Weights of jobs on domains; those of the last plan as long as they hold."""
    known, steered = memory.loads, memory.loads_steered
    same = memory.loads_layout is observation.layout
    same &= memory.loads_version == observation.overshoot.version
    if same and known is not None and steered is not None and np.array_equal(steered, ours):
        return known
    overshoot = observation.overshoot
    draws, could = np.where(ours, overshoot.counted, 0.0), np.where(ours, MOST, 0.0)
    return loads(observation.layout, draws, could)


def _paced(
    observation: Observation,
    situation: Situation,
    live: Solution,
    moved: tuple[Floats, Floats],
    ours: Bools,
    pacing: Pacing,
    held: Bools,
    spare_w: Floats,
) -> Opened:
    layout = observation.layout
    nowhere = np.full(layout.job_count, -1, dtype=np.int64)
    if not layout.job_count:
        return Opened(np.zeros(0), np.zeros(layout.domain_count), nowhere)
    seat, begin = layout.seat, layout.job_start
    mine = ours[seat]
    # One value a job: what its lowest board holds now is what the job can use.
    old_w = np.minimum.reduceat(np.where(mine, situation.limit_w[seat], np.inf), begin)
    old_w = np.where(np.isfinite(old_w), old_w, live.limit_w)
    if stands(old_w, live.limit_w, layout.max_w, pacing):
        return Opened(old_w, np.zeros(layout.domain_count), nowhere)
    last_change_s = np.maximum.reduceat(np.where(mine, moved[0][seat], -1e9), begin)
    last_fall_s = np.maximum.reduceat(np.where(mine, moved[1][seat], -1e9), begin)
    now_s = situation.now_s
    fresh = now_s - layout.started_s < pacing.start_exempt_s
    fresh |= now_s - observation.stalls.woke_s < pacing.wake_exempt_s
    fresh &= ~held
    next_w = paced(
        live.problem,
        Moves(
            old_w=old_w,
            wished_w=live.limit_w,
            natural_w=live.problem.peak_w,
            binds_w=np.where(live.question.stalled, observation.draw_w, live.problem.peak_w),
            rating_w=layout.max_w,
            changed_ago_s=now_s - last_change_s,
            lowered_ago_s=now_s - last_fall_s,
            fresh=fresh,
            movable=live.question.mine,
            held=held,
        ),
        pacing,
    )
    usable_w = ramps.usable_w(spare_w, layout.fleet.ramp_w_per_s, pacing.change_interval_s)
    return opened(layout, live.problem.loads, old_w, next_w, live.problem.peak_w, usable_w)


def _as_if(
    observation: Observation, walls: Walls, situation: Situation, penalty_w: Floats, reactive: bool
) -> Floats:
    """Limits (J,) that all jobs would get if all of them were ours."""
    layout = observation.layout
    every = layout.job_of >= 0
    room = budgets(observation, walls, situation, every, penalty_w, reactive)
    weighed = loads(layout, np.where(every, observation.overshoot.counted, 0.0))
    question = ask(observation, weighed, room, every, np.ones(layout.job_count, dtype=np.bool_))
    return solve(layout, question).limit_w


def _slowdown(live: Solution, next_w: Floats) -> Floats:
    natural = live.problem.peak_w
    speed = curves.speed(np.minimum(next_w, natural) / natural, live.problem.busy)
    return np.where(live.question.stalled, 0.0, 1.0 - speed)


def _slope(node_slope: Floats) -> float:
    """Wall watts per board watt, about: to show a budget in board watts."""
    return float(node_slope.mean()) if len(node_slope) else 1.0
