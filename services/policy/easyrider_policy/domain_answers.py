"""Power domains as the API tells them: limits in force, what is drawn, what could be, and how warm breakers are."""

import numpy as np

from easyrider.tree import Domain, TripCurve
from easyrider_policy.coordinator import Coordinator
from easyrider_policy.core.holds import reach
from easyrider_policy.job_answers import column, known
from easyrider_policy.live import LiveDomain


def domains(coordinator: Coordinator) -> list[LiveDomain]:
    """Every domain of the scope. Made of whole columns, for speed."""
    picture, looked = coordinator.picture, coordinator.looked
    fleet, decision, facility = picture.fleet, coordinator.decision, picture.facility
    sums, unknown = None if looked is None else looked.sums, np.full(len(fleet.domains), np.nan)
    if sums is not None and len(sums.counted_w) != len(fleet.domains):
        sums = None  # of the rules before
    if decision is not None and len(decision.missing_w) != len(fleet.domains):
        decision = None
    observed_w = unknown if decision is None else decision.observed_w
    told = (
        *(picture.hard_w, picture.target_w, picture.own_target_w, observed_w),
        *((unknown,) * 3 if sums is None else (sums.counted_w, sums.room_w, sums.unmanaged_w)),
        np.array([record.fixed_w for record in fleet.domain_records], dtype=np.float64),
        *((unknown,) * 2 if decision is None else (decision.budget_w, decision.missing_w)),
    )
    warm = picture.heat.told(observed_w, picture.target_w)
    held = {hold.id: reach(hold, picture.rules.domains) for hold in picture.rules.holds}
    found = []
    for row, (record, watts) in enumerate(
        zip(fleet.domain_records, zip(*map(column, told), strict=True), strict=True)
    ):
        hard, target, own, observed, counted, room, unmanaged, fixed, budget, missing = watts
        closed = sums is not None and bool(sums.closed[row])
        outside = 0 if sums is None else int(sums.uncontrolled[row])
        found.append(
            LiveDomain(
                record.id,
                record.kind,
                hard,
                target,
                own,
                observed,
                counted,
                room,
                unmanaged,
                fixed,
                budget,
                missing,
                closed,
                outside,
                _sum_rule(closed, outside),
                "" if sums is None else sums.blocked.get(row, ""),
                tuple(name for name, below in held.items() if below is None or record.id in below),
                curve_told(record),
                *warm[row],
                known(facility.phases.amps[row]),
                facility.losses.names(row),
                facility.losses.battery_left_s(row),
            )
        )
    return found


def curve_told(record: Domain) -> str:
    """Where a domain's trip curve comes from, and whether anybody vouches for it."""
    if isinstance(record.curve, TripCurve) and record.curve.preset:
        return f"{record.curve.preset} unverified" if record.unconfirmed else record.curve.preset
    return "own" if record.trip_points else ""


def _sum_rule(closed: bool, outside: int) -> str:
    if closed:
        return "proved"
    return f"sum rule not provable here: {outside} GPUs not controlled"
