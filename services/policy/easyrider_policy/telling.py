"""A decision told as the message `Plan`: every limit with its reason."""

import numpy as np

from easyrider.messages import DomainPlan, JobPlan, Plan
from easyrider.messages.plans import TargetPlan
from easyrider_policy.core.commands import Orders
from easyrider_policy.core.counting import Sums
from easyrider_policy.core.heat import Told
from easyrider_policy.core.records import Decision
from easyrider_policy.core.targets import Standing
from easyrider_policy.core.waiting import Waiting
from easyrider_policy.picture import Picture
from easyrider_policy.telling_demands import demand_plans
from easyrider_policy.telling_regions import region_plans

MOST_JOBS = 2_000
"""A plan of a larger site tells of the jobs that are slowed most; the message has a size limit."""
MOST_SILENT = 1_000


def tell(
    picture: Picture,
    decision: Decision,
    sums: Sums,
    orders: Orders,
    *,
    seq: int,
    cause: str,
    plan_ms: float,
    now_s: float,
    clocks_ns: tuple[int, int],
) -> Plan:
    """The plan of this moment. `clocks_ns`: Unix and monotonic."""
    waiting = {w.gpu: w for w in orders.waiting}
    warm = picture.heat.told(decision.observed_w, picture.target_w)
    quiet = picture.safety.ledger.roll.quiet(now_s)
    return Plan(
        region=picture.region,
        tree=picture.rules.id,
        tree_version=picture.rules.version,
        epoch=max(picture.safety.lead.epoch, 0),
        seq=seq,
        t_ns=clocks_ns[0],
        mono_ns=clocks_ns[1],
        cause=cause,
        leading=picture.safety.lead.phase != "contending",
        domains=tuple(_domain(picture, decision, sums, row, warm[row]) for row in range(len(warm))),
        jobs=tuple(_job(picture, decision, waiting, row) for row in _told(decision)),
        idle_gpus=int(np.sum(picture.observation.layout.job_of < 0)),
        lowers=orders.lowers,
        raises=orders.raises,
        raises_waiting=len(orders.waiting),
        silent_nodes=tuple(picture.fleet.nodes[row] for row in np.flatnonzero(quiet)[:MOST_SILENT].tolist()),
        reactive=decision.reactive,
        gap=_known(decision.gap),
        plan_ms=plan_ms,
        reactive_why=picture.why_reactive(now_s) if decision.reactive else "",
        holds=_holds(picture),
        targets=target_plans(picture),
        regions=region_plans(picture, now_s),
        demands=demand_plans(picture),
    )


def _told(decision: Decision) -> list[int]:
    count = len(decision.reasons)
    if count <= MOST_JOBS:
        return list(range(count))
    return sorted(np.argsort(-decision.slowdown, kind="stable")[:MOST_JOBS].tolist())


def _domain(picture: Picture, decision: Decision, sums: Sums, row: int, warm: Told) -> DomainPlan:
    return DomainPlan(
        domain=picture.fleet.domains[row],
        hard_limit_w=float(picture.hard_w[row]),
        target_w=float(picture.target_w[row]),
        observed_w=_known(decision.observed_w[row]),
        counted_w=max(
            0.0, float(picture.hard_w[row] - sums.room_w[row])
        ),  # with what regions below could draw
        budget_w=max(0.0, float(decision.budget_w[row])),
        unmanaged_w=max(0.0, float(sums.unmanaged_w[row])),
        closed=bool(sums.closed[row]),
        uncontrolled_gpus=int(sums.uncontrolled[row]),
        price=float(decision.price[row]),
        missing_w=max(0.0, float(decision.missing_w[row])),
        heat=warm.heat,
        time_to_trip_s=warm.time_to_trip_s,
        excursion_s=warm.excursion_s,
        excursion_j=warm.excursion_j,
        losses=picture.facility.losses.names(row),
    )


def _job(picture: Picture, decision: Decision, waiting: dict[int, Waiting], row: int) -> JobPlan:
    job = picture.observation.layout.jobs[row]
    waits_w = max((waiting[gpu].watts for gpu in job.gpus if gpu in waiting), default=0.0)
    return JobPlan(
        job=job.id,
        mode=job.mode,
        gpu_count=len(job.gpus),
        limit_w=max(0.0, float(decision.job_limit_w[row])),
        demand_w=max(0.0, float(decision.demand_w[row])),
        slowdown=min(1.0, max(0.0, float(decision.slowdown[row]))),
        reason=why(picture, decision, row),
        stalled=bool(decision.stalled[row]),
        waiting_w=max(0.0, waits_w),
    )


def why(picture: Picture, decision: Decision, job: int) -> str:
    """Why a job's limit is what it is; a target goes by the name of what has lowered it most, if something has."""
    reason = decision.reasons[job]
    kind, _, domain = reason.partition(":")
    row = picture.fleet.domain_index.get(domain)
    if kind != "target" or row is None:
        return reason
    by_demand_w, by_load_w = picture.billing.ceiling_w[row], picture.targets.ceiling_w[row]
    if by_demand_w < min(by_load_w, picture.fleet.aim_w[row]):
        return f"demand:{next(one.window.id for one in picture.billing.every if one.row == row)}"
    if (name := picture.targets.names.get(row)) is not None:
        return f"load_target:{name}"
    return reason


def target_plans(picture: Picture) -> tuple[TargetPlan, ...]:
    """Load targets that have not ended."""
    return tuple(_target(one) for one in picture.targets.every if one.phase != "ended")


def _holds(picture: Picture) -> tuple[str, ...]:
    held = [hold.id for hold in picture.rules.holds]
    return (*held, *sorted(node for node in picture.held_nodes if node in picture.fleet.node_index))


def _target(one: Standing) -> TargetPlan:
    return TargetPlan(
        id=one.target.id,
        domain=one.target.domain,
        phase=one.phase,
        target_w=one.target.target_w,
        observed_w=None if one.observed_w is None else max(0.0, one.observed_w),
        short_w=one.short_w,
        missing_w=max(0.0, one.missing_w),
        kept_ratio=one.kept,
    )


def _known(value: float) -> float | None:
    return max(0.0, float(value)) if np.isfinite(value) else None
