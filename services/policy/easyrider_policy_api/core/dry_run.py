"""What other rules would change: two sharings of watts from one snapshot, with the planner's own solver.

A first form of a re-plan: board limits and foreign load are those of the snapshot, every job has the peak and the
ten-second mean that the leader knows of it, and pacing, emergencies, load targets and leases are left out. Both sides
leave out the same, so it is their difference that says something.
"""

import dataclasses
from typing import Any

import numpy as np

from easyrider.errors import BadTree
from easyrider.scopes import part_of
from easyrider.tree import MODES, PriorityClass, Rules
from easyrider_policy.core import curves, modes
from easyrider_policy.core.budgets import Budgets
from easyrider_policy.core.checks import faults
from easyrider_policy.core.fleet import Fleet, Floats, build
from easyrider_policy.core.layout import Job, Layout, layout
from easyrider_policy.core.modes import Labels
from easyrider_policy.core.question import Question
from easyrider_policy.core.solve import solve
from easyrider_policy.core.weights import loads, on_domains
from easyrider_policy_api.core.snapshot import Snapshot

BASIS = "the planner's solver on the last snapshot, once with the rules in force and once with these"
LIMITS = (
    "each job draws the peak that is known of it, and the highest mean of ten seconds in the last minute where a "
    "target is kept as such a mean; what is not known counts as full; none begins, stalls, wakes or ends",
    "pacing, emergencies, load targets and region leases are left out, on both sides",
)


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class _Shared:
    """One sharing. Arrays over domains (D,) and jobs (J,)."""

    fleet: Fleet
    hard_w: Floats
    target_w: Floats
    drawn_w: Floats
    missing_w: Floats
    jobs: dict[str, tuple[float, float, str]]  # limit, slowdown, reason


def compare(now: Rules, then: Rules, seen: Snapshot, scope: str) -> dict[str, Any]:
    """Every domain and job of a scope that is in either, now and then.

    A snapshot is of one scope: nodes of others would count as never heard. Raises `BadTree` where the boards heard
    forbid it, or the scope is none of these rules.
    """
    now, then = part_of(now, scope), part_of(then, scope)
    found = faults(then, build(then, seen.boards), scope)
    if found:
        raise BadTree(then.id, found)
    before, after = _shared(now, seen), _shared(then, seen)
    limits = list(LIMITS)
    if seen.left_out:
        limits.append(f"{seen.left_out} boards are not in the snapshot, so their jobs could not be placed")
    elif not seen.boards:
        limits.append("no board was heard, so no job could be placed")
    return {
        "basis": BASIS,
        "domains": _domains(before, after),
        "jobs": _jobs(before, after),
        "limits": limits,
    }


def _shared(rules: Rules, seen: Snapshot) -> _Shared:
    fleet = build(rules, seen.boards)
    plan = _layout(rules, fleet, seen)
    hard_w, target_w = _in_force(rules, fleet, seen)
    known_w = {job.id: job.demand_w for job in seen.jobs}
    natural_w = np.array([known_w.get(job.id, np.nan) for job in plan.jobs], dtype=np.float64)
    natural_w = np.maximum(np.where(np.isfinite(natural_w), natural_w, plan.max_w), plan.min_w)
    ours = np.zeros(len(fleet.gpus), dtype=np.bool_)
    if plan.job_count:
        ours = (plan.job_of >= 0) & fleet.settable & plan.controlled[plan.job_of]
    standing_w, room = _room(fleet, plan, seen, ours, natural_w, hard_w, target_w)
    weighed = loads(plan, np.where(ours, 1.0, 0.0))
    if not plan.job_count:
        return _Shared(fleet, hard_w, target_w, standing_w, np.zeros(len(fleet.domains)), {})
    told = {job.id: job for job in seen.jobs}
    busy = curves.busy_class(np.array([told[job.id].busy_ratio for job in plan.jobs], dtype=np.float64))
    duty = np.array([told[job.id].duty_ratio for job in plan.jobs], dtype=np.float64)
    solution = solve(
        plan,
        Question(
            loads=weighed,
            room=room,
            natural_w=natural_w,
            duty=duty,
            busy=busy,
            stalled=np.zeros(plan.job_count, dtype=np.bool_),
            mine=plan.controlled & (np.maximum.reduceat(ours[plan.seat].astype(np.int8), plan.job_start) > 0),
            ceiling_w=None,
        ),
    )
    mine = solution.question.mine
    held_w = np.minimum(solution.limit_w, natural_w)
    slowdown = 1.0 - curves.speed(held_w / natural_w, busy)
    return _Shared(
        fleet=fleet,
        hard_w=hard_w,
        target_w=target_w,
        drawn_w=standing_w
        + np.where(
            plan.averaged,
            on_domains(plan, weighed.normal, held_w * duty),
            on_domains(plan, weighed.normal, held_w),
        ),
        missing_w=solution.floors.missing_w,
        jobs={
            job.id: (
                float(solution.limit_w[row]) if mine[row] else float("nan"),
                float(slowdown[row]) if mine[row] else 0.0,
                solution.told[row] if mine[row] else "not_ours",
            )
            for row, job in enumerate(plan.jobs)
        },
    )


def _layout(rules: Rules, fleet: Fleet, seen: Snapshot) -> Layout:
    rows = {
        job.id: tuple(fleet.gpu_index[gpu] for gpu in job.gpus if gpu in fleet.gpu_index) for job in seen.jobs
    }
    labels = [Labels(job=job.id, tenant=job.tenant, queue=job.queue, gpus=rows[job.id]) for job in seen.jobs]
    chosen = modes.modes(rules.modes, fleet, labels)
    jobs = []
    for job in seen.jobs:
        priority = rules.priorities.get(job.priority_class, PriorityClass())
        jobs.append(
            Job(
                id=job.id,
                gpus=rows[job.id],
                weight=priority.weight,
                max_slowdown=priority.max_slowdown,
                flex_tier=priority.flex_tier,
                least_speed=priority.least_speed,
                mode=MODES[min((int(chosen[row]) for row in rows[job.id]), default=0)],
            )
        )
    return layout(fleet, jobs)


def _in_force(rules: Rules, fleet: Fleet, seen: Snapshot) -> tuple[Floats, Floats]:
    """Limits as planned, or lower as far as the snapshot shows a supply that can carry less."""
    hard_w, target_w = fleet.hard_w.copy(), fleet.aim_w.copy()
    for row, domain in enumerate(fleet.domain_records):
        told = seen.domains.get(domain.id)
        if told is not None and told.hard_limit_w < domain.hard_w and rules.id:
            share = told.hard_limit_w / domain.hard_w
            hard_w[row] *= share
            target_w[row] *= share
    return hard_w, target_w


def _room(
    fleet: Fleet,
    plan: Layout,
    seen: Snapshot,
    ours: np.ndarray[Any, np.dtype[np.bool_]],
    natural_w: Floats,
    hard_w: Floats,
    target_w: Floats,
) -> tuple[Floats, Budgets]:
    """What stands before any steered job draws, and what that leaves."""
    foreign_w = np.zeros(len(fleet.domains))
    for row, domain in enumerate(fleet.domain_records):
        told = seen.domains.get(domain.id)
        known = told is not None and np.isfinite(told.unmanaged_w)
        foreign_w[row] = told.unmanaged_w if told is not None and known else (domain.unmanaged_max_w or 0.0)
    limit_w = np.array([seen.limit_w.get(gpu, np.nan) for gpu in fleet.gpus], dtype=np.float64)
    most_w = np.where(np.isfinite(limit_w), np.minimum(limit_w, fleet.max_w), fleet.max_w)
    idle = plan.job_of < 0
    could_w = np.where(ours, 0.0, np.where(idle, np.maximum(fleet.min_w, _fallback_w(fleet)), most_w))
    likely_w = np.where(ours, 0.0, np.where(idle, fleet.min_w, most_w))
    if plan.job_count:
        in_job = ~idle & ~ours
        likely_w = np.where(in_job, np.minimum(natural_w[plan.job_of], most_w), likely_w)
    standing_w = fleet.wall_w(likely_w) + fleet.fixed_w + foreign_w
    held_w = fleet.worst_wall_w(could_w) + fleet.worst_fixed_w + foreign_w + fleet.margin_w
    return standing_w, Budgets(
        target_w=target_w - standing_w, hard_w=hard_w - held_w, held_back_w=np.zeros(len(fleet.domains))
    )


def _fallback_w(fleet: Fleet) -> Floats:
    found: Floats = fleet.fallback_w[fleet.gpu_node]
    return found


def _domains(before: _Shared, after: _Shared) -> list[dict[str, Any]]:
    names = dict.fromkeys((*after.fleet.domains, *before.fleet.domains))
    found = []
    for name in names:
        was, now = before.fleet.domain_index.get(name), after.fleet.domain_index.get(name)
        drawn = [_at(before.drawn_w, was), _at(after.drawn_w, now)]
        known = drawn[0] is not None and drawn[1] is not None
        found.append(
            {
                "domain": name,
                "hard_limit_w": [_at(before.hard_w, was), _at(after.hard_w, now)],
                "target_w": [_at(before.target_w, was), _at(after.target_w, now)],
                "drawn_w": drawn,
                "difference_w": round(drawn[1] - drawn[0], 1) if known else None,  # type: ignore[operator]
                "missing_w": _at(after.missing_w, now) or 0.0,
            }
        )
    return found


def _jobs(before: _Shared, after: _Shared) -> list[dict[str, Any]]:
    unknown = (float("nan"), float("nan"), "not_ours")
    found = []
    for name in dict.fromkeys((*after.jobs, *before.jobs)):
        was, now = before.jobs.get(name, unknown), after.jobs.get(name, unknown)
        found.append(
            {
                "job": name,
                "limit_w": [_known(was[0], 1), _known(now[0], 1)],
                "slowdown": [_known(was[1], 4), _known(now[1], 4)],
                "reason": now[2],
            }
        )
    return found


def _at(values: Floats, row: int | None) -> float | None:
    return None if row is None else _known(float(values[row]), 1)


def _known(value: float, digits: int) -> float | None:
    return round(value, digits) if np.isfinite(value) else None
