"""What a rules document must say to hang together: names that exist, numbers in range, no loop.

Whether its fallbacks fit and its breakers wait long enough is for the policy, which knows the timing rule.
"""

from itertools import pairwise

from easyrider.gates import check_gates
from easyrider.id_checks import check_ids, check_once, check_token
from easyrider.magnitudes import check_magnitudes
from easyrider.order_checks import check_holds, check_targets
from easyrider.records import Faults
from easyrider.region_checks import check_regions
from easyrider.tariff_checks import check_tariffs
from easyrider.tree import (
    REGION_LEASE_S,
    SELECTOR_KEYS,
    Contingency,
    Domain,
    Node,
    NodeClass,
    Rules,
    TripCurve,
)
from easyrider.trip_presets import check_preset


def check(rules: Rules, faults: Faults, domain_ids: set[str], class_names: set[str], node_count: int) -> None:
    """Adds every fault of a whole document. Ids, names and rows count as known although they have a fault."""
    domains = {domain.id: domain for domain in rules.domains}
    _tokens(rules, faults)
    if not domain_ids:
        faults.add("domains", "is empty: there is nothing to keep within a limit")
    if not node_count:
        faults.add("nodes", "is empty: there is nothing to limit")
    if rules.version < 1:
        faults.add("tree.version", f"is {rules.version}, below 1")
    _numbers("", {"margin_w": rules.margin_w}, faults)
    if rules.pilot_floor_w is not None and rules.pilot_floor_w <= 0:
        faults.add("pilot_floor_w", f"is {rules.pilot_floor_w:g}, not above 0")
    for domain in rules.domains:
        _check_domain(domain, domain_ids, faults)
    _check_loops(domains, faults)
    _check_meters(rules, faults)
    for node in rules.nodes:
        place = f"nodes[{node.id}]"
        if node.domain not in domain_ids:
            faults.add(f"{place}.domain", f"names {node.domain!r}, which is no domain")
        if node.node_class not in class_names:
            faults.add(f"{place}.class", f"names {node.node_class!r}, which is no class")
        _positive(place, {"fallback_w_per_gpu": node.fallback_w_per_gpu}, faults)
        _check_fallback(place, node, rules.classes.get(node.node_class), faults)
    for name, kind in rules.classes.items():
        _numbers(f"classes.{name}", {"overhead_w": kind.overhead_w}, faults)
        _positive(
            f"classes.{name}",
            {"overhead_slope": kind.overhead_slope, "gpu_max_w": kind.gpu_max_w, "gpu_count": kind.gpu_count},
            faults,
        )
        _numbers(f"classes.{name}", {"gpu_min_w": kind.gpu_min_w}, faults)
    _check_rules(rules, faults)
    check_regions(rules, domain_ids, faults)
    check_holds(rules.holds, domain_ids, faults)
    check_targets(rules.targets, domain_ids, faults)
    check_tariffs(rules, domain_ids, faults)
    check_gates(rules.gates, faults)
    check_magnitudes(rules, faults)


def _check_domain(domain: Domain, domain_ids: set[str], faults: Faults) -> None:
    place = f"domains[{domain.id}]"
    if domain.parent is not None and domain.feeds is not None:
        faults.add(place, "has a parent and feeds; one of them")
    parents = [domain.parent] if domain.parent is not None else []
    if domain.feeds is not None:
        parents = [domain.feeds.A, domain.feeds.B]
        if domain.feeds.A == domain.feeds.B:
            faults.add(f"{place}.feeds", "names the same domain twice")
    for parent in parents:
        if parent not in domain_ids:
            faults.add(place, f"hangs below {parent!r}, which is no domain")
    _positive(
        place,
        {
            "rating_w": domain.rating_w,
            "hard_limit_w": domain.hard_limit_w,
            "target_w": domain.target_w,
            "target_share": domain.target_share,
            "target_window_s": domain.target_window_s,
            "derate": domain.derate,
            "limit_a": domain.limit_a,
            "voltage_v": domain.voltage_v,
            "pf": domain.pf,
            "phases": domain.phases,
            "supply_modules": domain.supply_modules,
            "ramp_w_per_s": domain.ramp_w_per_s,
        },
        faults,
    )
    _numbers(place, {"fixed_w": domain.fixed_w, "unmanaged_max_w": domain.unmanaged_max_w}, faults)
    if domain.target_share > 1:
        faults.add(f"{place}.target_share", f"is {domain.target_share}, above 1")
    if domain.derate > 1:
        faults.add(f"{place}.derate", f"is {domain.derate:g}, above 1")
    if domain.pf is not None and domain.pf > 1:
        faults.add(f"{place}.pf", f"is {domain.pf:g}, outside 0..1")
    if domain.phases is not None and domain.phases > 3:
        faults.add(f"{place}.phases", f"is {domain.phases}, outside 1..3")
    carries_w, why = domain.carries_w, f"its rating of {domain.rating_w:g} W"
    if carries_w < domain.rating_w:
        why = f"the {carries_w:g} W that its {'amps' if domain.amps_w == carries_w else 'derating'} leave of its rating"
    if domain.hard_w > carries_w:
        faults.add(f"{place}.hard_limit_w", f"is {domain.hard_w:g} W, above {why}")
    if domain.aim_w > carries_w:
        faults.add(f"{place}.target_w", f"is {domain.aim_w:g} W, above {why}")
    if domain.aim_w > domain.hard_w:
        faults.add(place, f"aims at {domain.aim_w:g} W, above its hard limit of {domain.hard_w:g} W")
    check_once(f"{place}.contingencies", (loss.name for loss in domain.contingencies), faults)
    for loss in domain.contingencies:
        _positive(f"{place}.contingencies[{loss.name}]", {"hard_limit_w": loss.hard_limit_w}, faults)
        if loss.hard_limit_w > domain.hard_w:
            faults.add(
                f"{place}.contingencies[{loss.name}]",
                f"allows {loss.hard_limit_w:g} W, above the hard limit of {domain.hard_w:g} W",
            )
        _check_loss(f"{place}.contingencies[{loss.name}]", loss, domain, domain_ids, faults)
    _check_curve(place, domain, faults)


def _check_loss(place: str, loss: Contingency, domain: Domain, domain_ids: set[str], faults: Faults) -> None:
    """What a planned loss says beside its limit: each key belongs to one kind of loss."""
    _positive(place, {"target_w": loss.target_w, "runtime_s": loss.runtime_s}, faults)
    if loss.target_w is not None and loss.target_w > loss.hard_limit_w:
        faults.add(
            f"{place}.target_w", f"is {loss.target_w:g} W, above its hard limit of {loss.hard_limit_w:g} W"
        )
    for key, kind in (("feed", "feed_lost"), ("above_c", "cooling_lost"), ("runtime_s", "on_battery")):
        said = getattr(loss, key) is not None
        if said and loss.when != kind:
            faults.add(f"{place}.{key}", f"belongs to `when: {kind}`")
        elif not said and loss.when == kind and key != "runtime_s":
            faults.add(f"{place}.{key}", f"is missing: `when: {kind}` hangs on it")
    if loss.feed is not None and loss.feed not in domain_ids:
        faults.add(f"{place}.feed", f"names {loss.feed!r}, which is no domain")
    if loss.when in ("on_battery", "cooling_lost") and not domain.meters:
        faults.add(f"{place}.when", f"is {loss.when}, which no meter of this domain can tell: it has none")


def _check_fallback(place: str, node: Node, kind: NodeClass | None, faults: Faults) -> None:
    low_w, high_w = (None, None) if kind is None else (kind.gpu_min_w, kind.gpu_max_w)
    told_w = node.fallback_w_per_gpu
    if low_w is not None and 0 < told_w < low_w:
        faults.add(f"{place}.fallback_w_per_gpu", f"is {told_w:g} W, below the {low_w:g} W of its class")
    if high_w is not None and told_w > high_w:
        faults.add(f"{place}.fallback_w_per_gpu", f"is {told_w:g} W, above the {high_w:g} W of its class")


def _check_meters(rules: Rules, faults: Faults) -> None:
    at: dict[str, list[str]] = {}
    for domain in rules.domains:
        for meter in dict.fromkeys(domain.meters):
            at.setdefault(meter, []).append(domain.id)
    for meter, domains in at.items():
        if len(domains) > 1:
            faults.add(f"domains[{domains[1]}].meters", f"names {meter!r}, which {domains[0]} has already")


def _check_curve(place: str, domain: Domain, faults: Faults) -> None:
    if isinstance(domain.curve, TripCurve):
        check_preset(f"{place}.curve", domain.curve, faults)
    points = domain.trip_points
    for point in points:
        _positive(f"{place}.curve", {"multiple": point.multiple, "time_s": point.time_s}, faults)
        if 0 < point.multiple < 1:
            faults.add(
                f"{place}.curve", f"multiple is {point.multiple:g}, below 1: a load within the rating is held"
            )
    for before, after in pairwise(points):
        if after.multiple <= before.multiple or after.time_s >= before.time_s:
            faults.add(
                f"{place}.curve",
                f"must hold more for a shorter time: {after.multiple:g} x for {after.time_s:g} s "
                f"follows {before.multiple:g} x for {before.time_s:g} s",
            )


def _check_loops(domains: dict[str, Domain], faults: Faults) -> None:
    done: set[str] = set()
    for start in domains:
        if start in done:
            continue
        path: list[str] = []
        stack: list[tuple[str, bool]] = [(start, False)]
        while stack:
            name, leaving = stack.pop()
            if leaving:
                path.pop()
                done.add(name)
            elif name in path:
                faults.add(
                    f"domains[{name}]", f"hangs below itself: {' < '.join([*path[path.index(name) :], name])}"
                )
            elif name in domains and name not in done:
                path.append(name)
                stack.append((name, True))
                stack.extend((parent, False) for parent in _parents(domains[name]))


def _parents(domain: Domain) -> list[str]:
    if domain.feeds is not None:
        return [domain.feeds.A, domain.feeds.B]
    return [] if domain.parent is None else [domain.parent]


def _check_rules(rules: Rules, faults: Faults) -> None:
    for index, rule in enumerate(rules.modes):
        for key in rule.selector:
            if key not in SELECTOR_KEYS:
                faults.add(f"modes[{index}].selector.{key}", f"is not one of {', '.join(SELECTOR_KEYS)}")
    for name, priority in rules.priorities.items():
        place = f"priorities.{name}"
        _positive(place, {"weight": priority.weight}, faults)
        if not 0 <= priority.max_slowdown < 1:
            faults.add(f"{place}.max_slowdown", f"is {priority.max_slowdown:g}, not from 0 to under 1")
        if priority.flex_tier not in (0, 10, 25, 50):
            faults.add(f"{place}.flex_tier", f"is {priority.flex_tier}, not one of 0, 10, 25, 50")
        if not 0 <= priority.least_speed <= 1:
            faults.add(f"{place}.least_speed", f"is {priority.least_speed:g}, outside 0..1")
    pacing, leases = rules.pacing, rules.leases
    if not 0 < pacing.step_share <= 0.20:
        faults.add("pacing.step_share", f"is {pacing.step_share:g}, outside 0..0.2")
    if not 1 <= pacing.change_interval_s <= 5:
        faults.add("pacing.change_interval_s", f"is {pacing.change_interval_s:g}, outside 1..5")
    if not 1 <= leases.control_period_s <= 5:
        faults.add("leases.control_period_s", f"is {leases.control_period_s:g}, outside 1..5")
    fields = ("cooldown_s", "dead_band_share", "start_exempt_s", "wake_exempt_s")
    _numbers("pacing", {name: getattr(pacing, name) for name in fields}, faults)
    _positive("leases", {name: getattr(leases, name) for name in leases.__slots__}, faults)
    if leases.leader_lease_s < 2 * leases.grant_every_s:
        faults.add(
            "leases.leader_lease_s",
            f"is {leases.leader_lease_s:g}, below 2 x grant_every_s: it is renewed as often, and would run out between",
        )
    if leases.second_stage_s <= leases.dead_man_s:
        faults.add("leases.second_stage_s", "must be longer than dead_man_s")
    region_lease_s = leases.region_lease_s or REGION_LEASE_S
    if leases.second_stage_s < max(region_lease_s, leases.leader_lease_s, leases.ttl_s):
        faults.add("leases.second_stage_s", "must be longer than every lease")


def _tokens(rules: Rules, faults: Faults) -> None:
    check_token("tree.id", rules.id, faults)
    check_ids("nodes", (node.id for node in rules.nodes), faults)
    check_ids("domains", (domain.id for domain in rules.domains), faults)
    for domain in rules.domains:
        for meter in domain.meters:
            check_token(f"domains[{domain.id}].meters", meter, faults)


def _numbers(place: str, values: dict[str, float | None], faults: Faults) -> None:
    for name, value in values.items():
        if value is not None and value < 0:
            faults.add(f"{place}.{name}".lstrip("."), f"is {value:g}, below 0")


def _positive(place: str, values: dict[str, float | None], faults: Faults) -> None:
    for name, value in values.items():
        if value is not None and value <= 0:
            faults.add(f"{place}.{name}", f"is {value:g}, not above 0")
