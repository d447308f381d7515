"""Power domains as the API tells them: limits in force, what is drawn, what could be, and how warm breakers are."""

import numpy as np

from easyrider.tree import Domain, TripCurve
from easyrider_policy.coordinator import Coordinator
from easyrider_policy.core.counting import Sums
from easyrider_policy.core.fleet import Floats
from easyrider_policy.core.holds import reach
from easyrider_policy.job_answers import column, known
from easyrider_policy.live import LiveDomain
from easyrider_policy.picture import Picture
from easyrider_policy.telling_regions import below, lent


def domains(coordinator: Coordinator, now_s: float) -> list[LiveDomain]:
    """Every domain of the scope, with what regions below could draw. Made of whole columns, for speed."""
    picture, looked = coordinator.picture, coordinator.looked
    fleet, decision, facility = picture.fleet, coordinator.decision, picture.facility
    sums, unknown = None if looked is None else looked.sums, np.full(len(fleet.domains), np.nan)
    if sums is not None and len(sums.counted_w) != len(fleet.domains):
        sums = None  # of the rules before
    if decision is not None and len(decision.missing_w) != len(fleet.domains):
        decision = None
    observed_w, budget_w, missing_w = (
        (unknown,) * 3 if decision is None else (decision.observed_w, decision.budget_w, decision.missing_w)
    )
    if decision is None and sums is not None and picture.regions.any:  # a scope that lends, and has no boards
        observed_w, budget_w, missing_w = lent(picture, sums, now_s)
    told = (
        *(picture.hard_w, picture.target_w, picture.own_target_w, observed_w),
        *((unknown,) * 3 if sums is None else (_counted_w(picture, sums), sums.room_w, sums.unmanaged_w)),
        np.array([record.fixed_w for record in fleet.domain_records], dtype=np.float64),
        *(budget_w, missing_w),
    )
    governed, carried = below(picture)
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
                _sum_rule(closed, outside, governed.get(row, ""), carried.get(row, ())),
                "" if sums is None else sums.blocked.get(row, ""),
                tuple(name for name, below in held.items() if below is None or record.id in below),
                curve_told(record),
                *warm[row],
                known(facility.phases.amps[row]),
                facility.losses.names(row),
                facility.losses.battery_left_s(row),
                governed.get(row, ""),
                carried.get(row, ()),
            )
        )
    return found


def curve_told(record: Domain) -> str:
    """Where a domain's trip curve comes from, and whether anybody vouches for it."""
    if isinstance(record.curve, TripCurve) and record.curve.preset:
        return f"{record.curve.preset} unverified" if record.unconfirmed else record.curve.preset
    return "own" if record.trip_points else ""


def _counted_w(picture: Picture, sums: Sums) -> Floats:
    """(D,) what could be drawn, by regions below too."""
    return picture.hard_w - sums.room_w if picture.regions.any else sums.counted_w


def _sum_rule(closed: bool, outside: int, governed_by: str, regions: tuple[str, ...]) -> str:
    if governed_by:
        return f"region {governed_by} answers for it: ask that one"
    if closed and regions:
        return f"proved for what is lent to {', '.join(regions)}; below, each of them proves its own"
    if closed:
        return "proved"
    return f"sum rule not provable here: {outside} GPUs not controlled"
