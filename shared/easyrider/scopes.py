"""The part of a rules document that one scope governs.

A scope has the domains at and below its own, except those below a region further down. Of such a region it sees
the domain alone, as a place where the guaranteed share is always drawn; what is lent beyond it is for the policy.
"""

from dataclasses import replace

from easyrider.errors import BadTree
from easyrider.tree import Domain, Region, Rules


def find(rules: Rules, scope: str) -> Region | None:
    """The region of this name; None in a document without regions, which is one scope whatever its name.

    Raises `BadTree` where there are regions and none has this name.
    """
    if not rules.regions:
        return None
    for region in rules.regions:
        if region.id == scope:
            return region
    names = ", ".join(region.id for region in rules.regions)
    raise BadTree(rules.id, [f"region {scope!r} is no scope of this tree, which has {names}"])


def children(rules: Rules, scope: str) -> tuple[Region, ...]:
    """Regions that this scope grants watts to."""
    return tuple(region for region in rules.regions if region.parent == scope)


def depth(rules: Rules, scope: str) -> int:
    """How many levels of regions hang below a scope."""
    return max((1 + depth(rules, region.id) for region in children(rules, scope)), default=0)


def owners(rules: Rules) -> dict[str, str | None]:
    """The scope that governs each domain: the nearest region at or above it, else the top. None without regions.

    Of a domain on two feeds the first one tells; `region_checks` refuses feeds that tell different things.
    """
    at = {region.domain: region.id for region in rules.regions if region.domain is not None}
    top = next((region.id for region in rules.regions if region.parent is None), None)
    domains = {each.id: each for each in rules.domains}
    found: dict[str, str | None] = {}
    for start in domains:
        path, name = [], start
        while name not in found and name in domains and name not in at:
            path.append(name)
            ups = above(domains[name])
            if not ups or ups[0] in path:
                break
            name = ups[0]
        held = at.get(name, found.get(name, top))
        found.update(dict.fromkeys([*path, *([name] if name in domains else [])], held))
    return found


def part_of(rules: Rules, scope: str) -> Rules:
    """The document of one scope: its own domains and nodes, and the domains of the regions right below it.

    Regions stay named, so that a part still tells who is who. Raises `BadTree` for a name that is no scope.
    """
    own = find(rules, scope)
    if own is None:
        return rules
    below = {region.domain: region for region in children(rules, scope)}
    held = owners(rules)
    kept: list[Domain] = []
    for domain in rules.domains:
        if domain.id == own.domain:
            kept.append(replace(domain, parent=None, feeds=None))
        elif held[domain.id] == scope:
            kept.append(domain)
        elif (region := below.get(domain.id)) is not None:
            kept.append(_stub(domain, region))
    nodes = tuple(node for node in rules.nodes if held[node.domain] == scope)
    leases = replace(rules.leases, region_lease_s=rules.region_lease_s)
    return replace(rules, domains=tuple(kept), nodes=nodes, leases=leases)


def above(domain: Domain) -> tuple[str, ...]:
    """Ids of the domains right above one."""
    if domain.feeds is not None:
        return (domain.feeds.A, domain.feeds.B)
    return () if domain.parent is None else (domain.parent,)


def _stub(domain: Domain, region: Region) -> Domain:
    """A region's domain as its parent sees it: meters, curve and what else stands there are the region's own."""
    return replace(
        domain,
        curve=(),
        fixed_w=region.guaranteed_w or 0.0,
        unmanaged_max_w=None,
        meters=(),
        supply_modules=None,
    )


def owner_of(rules: Rules, node: str, scope: str) -> str:
    """The scope that governs a node; `scope` where the rules tell no other."""
    held = owners(rules)
    at = next((row.domain for row in rules.nodes if row.id == node), "")
    return (held.get(at) if rules.regions else None) or scope


def line_of(rules: Rules, scope: str) -> tuple[str, ...]:
    """A scope and every scope below it, parents first; the name alone in a document without regions."""
    found = [scope]
    for name in found:
        found += [region.id for region in children(rules, name)]
    return tuple(found)


def whole_of(rules: Rules, scope: str) -> Rules:
    """The document of a scope and all below it as one scope. Raises `BadTree` for a name that is no scope."""
    own = find(rules, scope)
    if own is None:
        return rules
    line, held = frozenset(line_of(rules, scope)), owners(rules)
    kept = [
        replace(domain, parent=None, feeds=None) if domain.id == own.domain else domain
        for domain in rules.domains
        if held[domain.id] in line
    ]
    nodes = tuple(node for node in rules.nodes if held[node.domain] in line)
    return replace(rules, domains=tuple(kept), nodes=nodes, regions=())
