"""Whether a tree can be kept safe at all; every reason against it, with the numbers."""

from collections.abc import Iterator, Sequence

import numpy as np

from easyrider.errors import BadTree
from easyrider.scopes import children, part_of
from easyrider.tree import MODES, REGION_LEASE_S, Leases, ModeRule, Pacing, PriorityClass, Region, Rules
from easyrider_policy.core.fleet import Fleet, Floats, build
from easyrider_policy.core.modes import may_be_limited
from easyrider_policy.core.timing import timing_fault
from easyrider_policy.core.unmanaged import Estimates

FLEX_TIERS = (0, 10, 25, 50)
STEP_CEILING = 0.20
STEPS_TO_HOLD_S = 1.7
"""From the end of a dead leader's lease to its successor's holds: a try each 0.5 s, a start, a grant."""


def refuse(rules: Rules, fleet: Fleet | None = None, scope: str = "") -> None:
    """Raise `BadTree` with every fault; `fleet`: with the boards heard, where the classes declare too little."""
    found = faults(rules, fleet, scope)
    if found:
        raise BadTree(rules.id, found)


def faults(rules: Rules, fleet: Fleet | None = None, scope: str = "") -> list[str]:
    """Every reason to refuse the rules; none: they can be kept. `fleet`: of all, or of the part `scope` governs."""
    known = build(rules, []) if fleet is None else fleet
    regions = [region for region in rules.regions if scope in ("", region.id)]
    heard = fleet if scope else None
    return [
        *_leases(rules.leases),
        *_pacing(rules.pacing),
        *(fault for name, priority in rules.priorities.items() for fault in _priority(name, priority)),
        *_numbers(rules),
        *_fallbacks(rules, known),
        *_timing(rules, known),
        *_unconfirmed(rules, known),
        *(fault for region in regions for fault in _region(rules, region, heard)),
    ]


def fallback_w(fleet: Fleet, modes: Sequence[ModeRule]) -> Floats:
    """(D,) wall watts when every node is at its fallback, with fixed load, margin and what else may be drawn."""
    told_w = np.clip(fleet.fallback_w[fleet.gpu_node], fleet.min_w, fleet.max_w)
    board_w = np.bincount(fleet.gpu_node, weights=told_w, minlength=len(fleet.nodes))
    unheard_w = fleet.unheard * np.maximum(fleet.fallback_w, fleet.class_min_w)
    return _with_the_rest_w(fleet, modes, board_w + unheard_w)


def start_w(fleet: Fleet, modes: Sequence[ModeRule]) -> Floats:
    """(D,) wall watts when every host has just booted: boards at their maximum, behind a boot guard at the fallback.

    See shared/decisions/0010: such a host's guardian enforces the fallback before any job can run.
    """
    guarded = fleet.boot_guard
    at_boot_w = np.clip(fleet.fallback_w[fleet.gpu_node], fleet.min_w, fleet.max_w)
    board_w = np.where(guarded[fleet.gpu_node], at_boot_w, fleet.max_w)
    heard_w = np.bincount(fleet.gpu_node, weights=board_w, minlength=len(fleet.nodes))
    guarded_w = fleet.unheard * np.maximum(fleet.fallback_w, fleet.class_min_w)
    unheard_w: Floats = np.where(guarded, guarded_w, fleet.unheard_w)
    return _with_the_rest_w(fleet, modes, heard_w + unheard_w)


def _with_the_rest_w(fleet: Fleet, modes: Sequence[ModeRule], board_w: Floats) -> Floats:
    """(D,) wall watts of nodes whose boards come to `board_w` (N,), and of what else is drawn there.

    A declared load stands for boards that nobody limits, so these count once, at the larger of the two. Where no
    board can come to be limited there is nothing to keep yet, and the declared load speaks against nothing.
    """
    limited = may_be_limited(modes, fleet)
    all_w = fleet.weights.worst(fleet.overhead_w + fleet.overhead_slope * board_w)
    ours_w = fleet.weights.worst(fleet.overhead_w + fleet.overhead_slope * np.where(limited, board_w, 0.0))
    told_w = np.where(fleet.weights.any_node(limited), ours_w + _declared_w(fleet), 0.0)
    return np.maximum(all_w, told_w) + fleet.worst_fixed_w + fleet.margin_w


def _declared_w(fleet: Fleet) -> Floats:
    """(D,) declared unmanaged load, own and below: a domain's own figure holds what is declared below it."""
    declared = [np.nan if d.unmanaged_max_w is None else d.unmanaged_max_w for d in fleet.domain_records]
    told = Estimates(
        np.array(declared, dtype=np.float64),
        np.zeros(len(declared), dtype=np.bool_),
        unmetered=frozenset(range(len(declared))),
    )
    return told.load(fleet, np.ones(len(fleet.gpus), dtype=np.bool_)).watts


def _fallbacks(rules: Rules, fleet: Fleet) -> Iterator[str]:
    needs_w = fallback_w(fleet, rules.modes)
    for row, domain in enumerate(fleet.domain_records):
        if needs_w[row] > fleet.smallest_hard_w[row] + 1e-6:
            planned = min(domain.contingencies, key=lambda c: c.hard_limit_w, default=None)
            case = "" if planned is None or planned.hard_limit_w >= domain.hard_w else f" ({planned.name})"
            yield (
                f"{domain.id}: fallbacks and fixed loads come to {needs_w[row]:.0f} W, its smallest planned hard "
                f"limit{case} is {fleet.smallest_hard_w[row]:.0f} W"
            )


def _region(rules: Rules, region: Region, heard: Fleet | None) -> Iterator[str]:
    """A region that its parent forgets must hold its nodes' fallbacks; where regions hang, guarantees must fit."""
    fleet = build(part_of(rules, region.id), []) if heard is None else heard
    needs_w = fallback_w(fleet, rules.modes)
    if region.guaranteed_w is not None and needs_w[0] > region.guaranteed_w + 1e-6:
        yield (
            f"region {region.id}: fallbacks and fixed loads come to {needs_w[0]:.0f} W, "
            f"above its guaranteed {region.guaranteed_w:.0f} W"
        )
    below = ", ".join(child.id for child in children(rules, region.id))
    for row, domain in enumerate(fleet.domain_records if below else ()):
        if needs_w[row] > fleet.smallest_hard_w[row] + 1e-6:
            yield (
                f"region {region.id}: guaranteed shares ({below}), fallbacks and fixed loads come to "
                f"{needs_w[row]:.0f} W in {domain.id}, its smallest planned hard limit is "
                f"{fleet.smallest_hard_w[row]:.0f} W"
            )


def _timing(rules: Rules, fleet: Fleet) -> Iterator[str]:
    highest_w = start_w(fleet, rules.modes)
    for row, domain in enumerate(fleet.domain_records):
        fault = timing_fault(domain, rules.leases, float(highest_w[row]))
        if fault is not None:
            yield fault


def _unconfirmed(rules: Rules, fleet: Fleet) -> Iterator[str]:
    """Nobody has said that a preset's curve is that of the device: it may justify nothing that is enforced."""
    enforced = fleet.weights.any_node(may_be_limited(rules.modes, fleet, MODES.index("enforce")))
    for row, domain in enumerate(fleet.domain_records):
        if enforced[row] and domain.unconfirmed:
            yield (
                f"domains[{domain.id}].curve is the preset {domain.unconfirmed}, unverified: `enforce` below it asks "
                "for `confirmed_by`, the name of who has compared its points with the device's data sheet"
            )


def _leases(leases: Leases) -> Iterator[str]:
    rules = (
        (1 <= leases.control_period_s <= 5, "control_period_s", leases.control_period_s, "1 to 5"),
        (
            0 < leases.grant_every_s <= leases.ttl_s / 2,
            "grant_every_s",
            leases.grant_every_s,
            "at most ttl_s / 2",
        ),
        (leases.ttl_s < leases.dead_man_s, "ttl_s", leases.ttl_s, "under dead_man_s"),
        (
            leases.leader_lease_s + STEPS_TO_HOLD_S <= leases.dead_man_s - 2 * leases.grant_every_s,
            "leader_lease_s",
            leases.leader_lease_s,
            f"at most dead_man_s - 2 grant_every_s - {STEPS_TO_HOLD_S}, or a take-over meets the dead-man",
        ),
        (
            leases.second_stage_s
            > max(
                leases.dead_man_s,
                leases.ttl_s,
                leases.leader_lease_s,
                leases.region_lease_s or REGION_LEASE_S,
            ),
            "second_stage_s",
            leases.second_stage_s,
            "above every lease and the dead-man",
        ),
        (leases.meter_delay_s >= 0, "meter_delay_s", leases.meter_delay_s, "0 or more"),
        (leases.sensor_window_s >= 0, "sensor_window_s", leases.sensor_window_s, "0 or more"),
        (leases.actuation_s >= 0, "actuation_s", leases.actuation_s, "0 or more"),
    )
    yield from (
        f"leases.{name} is {value:g} s, allowed: {allowed}"
        for good, name, value, allowed in rules
        if not good
    )


def _pacing(pacing: Pacing) -> Iterator[str]:
    rules = (
        (
            0 < pacing.step_share <= STEP_CEILING,
            "step_share",
            pacing.step_share,
            f"above 0, at most {STEP_CEILING}",
        ),
        (1 <= pacing.change_interval_s <= 5, "change_interval_s", pacing.change_interval_s, "1 to 5"),
        (pacing.cooldown_s >= 0, "cooldown_s", pacing.cooldown_s, "0 or more"),
        (0 <= pacing.dead_band_share <= 0.1, "dead_band_share", pacing.dead_band_share, "0 to 0.1"),
        (pacing.start_exempt_s >= 0, "start_exempt_s", pacing.start_exempt_s, "0 or more"),
        (pacing.wake_exempt_s >= 0, "wake_exempt_s", pacing.wake_exempt_s, "0 or more"),
    )
    yield from (
        f"pacing.{name} is {value:g}, allowed: {allowed}" for good, name, value, allowed in rules if not good
    )


def _priority(name: str, priority: PriorityClass) -> Iterator[str]:
    if not priority.weight > 0:
        yield f"priorities.{name}.weight is {priority.weight:g}, allowed: above 0"
    if not 0 <= priority.max_slowdown < 1:
        yield f"priorities.{name}.max_slowdown is {priority.max_slowdown:g}, allowed: 0 to under 1"
    if priority.flex_tier not in FLEX_TIERS:
        yield f"priorities.{name}.flex_tier is {priority.flex_tier}, allowed: {FLEX_TIERS}"
    if not 0 <= priority.least_speed <= 1:
        yield f"priorities.{name}.least_speed is {priority.least_speed:g}, allowed: 0 to 1"


def _numbers(rules: Rules) -> Iterator[str]:
    if rules.margin_w < 0:
        yield f"margin_w is {rules.margin_w:g}, allowed: 0 or more"
    for domain in rules.domains:
        if not domain.rating_w > 0:
            yield f"{domain.id}: rating_w is {domain.rating_w:g}, allowed: above 0"
        if not 0 < domain.target_share <= 1:
            yield f"{domain.id}: target_share is {domain.target_share:g}, allowed: above 0, at most 1"
        if not domain.target_window_s > 0:
            yield f"{domain.id}: target_window_s is {domain.target_window_s:g}, allowed: above 0"
        for contingency in domain.contingencies:
            if not 0 <= contingency.hard_limit_w <= domain.hard_w:
                yield (
                    f"{domain.id}: contingency {contingency.name} allows {contingency.hard_limit_w:g} W, "
                    f"allowed: 0 to its hard limit of {domain.hard_w:g} W"
                )
    for name, kind in rules.classes.items():
        if kind.overhead_w < 0 or kind.overhead_slope < 1:
            numbers = f"overhead_w {kind.overhead_w:g}, overhead_slope {kind.overhead_slope:g}"
            yield f"classes.{name}: {numbers}, allowed: 0 or more, 1 or more"
        if kind.gpu_min_w is not None and kind.gpu_max_w is not None and kind.gpu_min_w > kind.gpu_max_w:
            yield f"classes.{name}: gpu_min_w {kind.gpu_min_w:g} is above gpu_max_w {kind.gpu_max_w:g}"
