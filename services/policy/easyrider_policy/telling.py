"""A decision told as the message `Plan`: every limit with its reason."""

import numpy as np

from easyrider.messages import DomainPlan, JobPlan, Plan
from easyrider.messages.plans import TargetPlan
from easyrider_policy.core.commands import Orders
from easyrider_policy.core.counting import Sums
from easyrider_policy.core.fleet import Floats, Ints
from easyrider_policy.core.layout import Layout
from easyrider_policy.core.records import Decision
from easyrider_policy.core.targets import Standing
from easyrider_policy.core.waiting import Waits
from easyrider_policy.lent_by_parent import lent_by_parent
from easyrider_policy.picture import Picture
from easyrider_policy.telling_demands import demand_plans
from easyrider_policy.telling_regions import region_plans

MOST_JOBS = 2_000
"""A plan of a larger site tells of the jobs that are slowed most; the message has a size limit."""
MOST_DOMAINS = 2_000
"""The same of domains: it tells of those with others below, and of the fullest."""
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
        domains=_domains(picture, decision, sums),
        jobs=_jobs(picture, decision, orders.waiting),
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
        rules_sha256=picture.rules_sha256,
    )


def _told_domains(picture: Picture, decision: Decision) -> Ints:
    count, target_w = len(picture.fleet.domains), picture.target_w
    if count <= MOST_DOMAINS:
        return np.arange(count)
    full = np.nan_to_num(decision.observed_w) / np.maximum(target_w, 1.0) + np.where(
        decision.missing_w > 0, 1e6, 0.0
    )
    full[[parent for parents in picture.fleet.parents for parent in parents]] = np.inf
    return np.sort(np.argsort(-full, kind="stable")[:MOST_DOMAINS])


def _domains(picture: Picture, decision: Decision, sums: Sums) -> tuple[DomainPlan, ...]:
    told, hard_w, names = _told_domains(picture, decision), picture.hard_w, picture.fleet.domains
    observed_w = decision.observed_w[told]
    warm, losses = picture.heat.told(decision.observed_w, picture.target_w), picture.facility.losses
    columns = (
        hard_w[told].tolist(),
        picture.target_w[told].tolist(),
        np.maximum(0.0, observed_w).tolist(),
        np.isfinite(observed_w).tolist(),
        np.maximum(0.0, hard_w - sums.room_w)[told].tolist(),  # with what regions below could draw
        np.maximum(0.0, decision.budget_w)[told].tolist(),
        np.maximum(0.0, sums.unmanaged_w)[told].tolist(),
        sums.closed[told].tolist(),
        sums.uncontrolled[told].tolist(),
        decision.price[told].tolist(),
        np.maximum(0.0, decision.missing_w)[told].tolist(),
    )
    return tuple(
        DomainPlan(
            domain=names[row],
            hard_limit_w=hard,
            target_w=target,
            observed_w=observed if known else None,
            counted_w=counted,
            budget_w=budget,
            unmanaged_w=unmanaged,
            closed=closed,
            uncontrolled_gpus=uncontrolled,
            price=price,
            missing_w=missing,
            heat=warm[row].heat,
            time_to_trip_s=warm[row].time_to_trip_s,
            excursion_s=warm[row].excursion_s,
            excursion_j=warm[row].excursion_j,
            losses=losses.names(row),
        )
        for (
            row,
            (hard, target, observed, known, counted, budget, unmanaged, closed, uncontrolled, price, missing),
        ) in zip(told.tolist(), zip(*columns, strict=True), strict=True)
    )


def _told_jobs(decision: Decision) -> Ints:
    count = len(decision.reasons)
    if count <= MOST_JOBS:
        return np.arange(count)
    return np.sort(np.argsort(-decision.slowdown, kind="stable")[:MOST_JOBS])


def _jobs(picture: Picture, decision: Decision, waits: Waits) -> tuple[JobPlan, ...]:
    layout, told = picture.observation.layout, _told_jobs(decision)
    waiting_w, names = _waiting_w(layout, waits), lowering(picture)
    limit_w = limits_w(picture, decision)
    columns = (
        np.maximum(0.0, np.where(np.isnan(limit_w), decision.job_limit_w, limit_w))[told].tolist(),
        np.maximum(0.0, decision.demand_w)[told].tolist(),
        np.minimum(1.0, np.maximum(0.0, decision.slowdown))[told].tolist(),
        decision.stalled[told].tolist(),
        waiting_w[told].tolist(),
    )
    return tuple(
        JobPlan(
            job=(job := layout.jobs[row]).id,
            mode=job.mode,
            gpu_count=len(job.gpus),
            limit_w=limit,
            demand_w=demand,
            slowdown=slowdown,
            reason=names.get(decision.reasons[row], decision.reasons[row]),
            stalled=stalled,
            waiting_w=waiting,
        )
        for row, (limit, demand, slowdown, stalled, waiting) in zip(
            told.tolist(), zip(*columns, strict=True), strict=True
        )
    )


def limits_w(picture: Picture, decision: Decision) -> Floats:
    """(J,) per board, as planned; of a job in `observe` the least that its boards enforce, NaN where none is read."""
    layout = picture.observation.layout
    foreign = np.array([job.mode == "observe" for job in layout.jobs], dtype=np.bool_)
    if not foreign.any():
        return decision.job_limit_w
    boards = np.flatnonzero(layout.job_of >= 0)
    least_w = np.full(layout.job_count, np.nan)
    np.fmin.at(least_w, layout.job_of[boards], picture.gathering.limit_w[boards])
    return np.where(foreign, least_w, decision.job_limit_w)


def _waiting_w(layout: Layout, waits: Waits) -> Floats:
    """(J,) the most that a raise of each job waits for, per board."""
    waiting_w = np.zeros(layout.job_count)
    jobs = layout.job_of[waits.gpu]
    np.maximum.at(waiting_w, jobs[jobs >= 0], waits.watts[jobs >= 0])
    return waiting_w


def why(picture: Picture, decision: Decision, job: int) -> str:
    """Why a job's limit is what it is; a target goes by the name of what has lowered it most, if something has."""
    return lowering(picture).get(decision.reasons[job], decision.reasons[job])


def lowering(picture: Picture) -> dict[str, str]:
    """What has lowered a limit of a domain most, by the reason that names this limit, where something has."""
    names = picture.fleet.domains
    found = {f"target:{names[row]}": f"load_target:{name}" for row, name in picture.targets.names.items()}
    by_demand_w, by_load_w = picture.billing.ceiling_w, picture.targets.ceiling_w
    for row in np.flatnonzero(by_demand_w < np.minimum(by_load_w, picture.fleet.aim_w)).tolist():
        window = next(one.window.id for one in picture.billing.every if one.row == row)
        found[f"target:{names[row]}"] = f"demand:{window}"
    return found | lent_by_parent(picture)


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
