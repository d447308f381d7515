"""What a scope lends, as its plan tells it: regions beside jobs, and the plan of a scope that has no boards at all."""

import numpy as np

from easyrider.messages import DomainPlan, Plan, RegionPlan
from easyrider_policy.core.counting import Sums
from easyrider_policy.core.fleet import Floats
from easyrider_policy.picture import Picture


def region_plans(picture: Picture, now_s: float) -> tuple[RegionPlan, ...]:
    """Every region right below, in the order of the rules."""
    regions = picture.regions
    counted_w, found = regions.lending.counted_w(now_s), []
    silent = set(regions.lending.silent(now_s))
    for borrower in regions.borrowers:
        account = regions.lending.accounts[borrower.id]
        found.append(
            RegionPlan(
                region=borrower.id,
                domain=regions.fleet.domains[borrower.row],
                granted_w=max(0.0, account.held_w),
                target_w=max(0.0, account.held_target_w),
                guaranteed_w=borrower.guaranteed_w,
                counted_w=max(0.0, counted_w[borrower.id]),
                observed_w=None if account.demand is None else account.demand.observed_w,
                silent=borrower.id in silent,
                waits_for=account.why,
                released=account.dark,
            )
        )
    return tuple(found)


def lent(picture: Picture, sums: Sums, now_s: float) -> tuple[Floats, Floats, Floats]:
    """(D,) each, of a scope without boards: what is drawn, what is given to regions, and what they lack."""
    regions = picture.regions
    drawn_w = picture.walls.standing_w(sums.unmanaged_w) + regions.drawn_w(now_s)
    return drawn_w, regions.aimed_w() + regions.guaranteed_w(worst=False), regions.missing_w


def below(picture: Picture) -> tuple[dict[int, str], dict[int, tuple[str, ...]]]:
    """By row of the domain: the region right below that has it, and all such regions at or below it."""
    regions = picture.regions
    carried: dict[int, list[str]] = {}
    for borrower in regions.borrowers:
        for row in np.flatnonzero(regions.carried[borrower.id] > 0).tolist():
            carried.setdefault(row, []).append(borrower.id)
    return {one.row: one.id for one in regions.borrowers}, {
        row: tuple(found) for row, found in carried.items()
    }


def tell_lender(
    picture: Picture, sums: Sums, *, seq: int, cause: str, now_s: float, clocks_ns: tuple[int, int]
) -> Plan:
    """The plan of a scope without boards: its domains, and who was lent what. `clocks_ns`: Unix and monotonic."""
    fleet = picture.fleet
    drawn_w, given_w, missing_w = lent(picture, sums, now_s)
    counted_w = picture.hard_w - sums.room_w
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
        domains=tuple(
            DomainPlan(
                domain=fleet.domains[row],
                hard_limit_w=float(picture.hard_w[row]),
                target_w=float(picture.target_w[row]),
                observed_w=max(0.0, float(drawn_w[row])) if np.isfinite(drawn_w[row]) else None,
                counted_w=max(0.0, float(counted_w[row])),
                budget_w=max(0.0, float(given_w[row])),
                unmanaged_w=max(0.0, float(sums.unmanaged_w[row])),
                closed=bool(sums.closed[row]),
                uncontrolled_gpus=int(sums.uncontrolled[row]),
                price=0.0,
                missing_w=max(0.0, float(missing_w[row])),
            )
            for row in range(len(fleet.domains))
        ),
        jobs=(),
        idle_gpus=0,
        lowers=0,
        raises=0,
        raises_waiting=sum(bool(account.why) for account in picture.regions.lending.accounts.values()),
        silent_nodes=(),
        reactive=False,
        gap=None,
        plan_ms=0.0,
        regions=region_plans(picture, now_s),
        rules_sha256=picture.rules_sha256,
    )
