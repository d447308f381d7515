"""What the regions of a rules document must say to hang together: one root, names that exist, no loop, no quarrel.

Whether guaranteed shares cover fallbacks and fit limits is for the policy, which counts watts.
"""

from collections import Counter

from easyrider.records import Faults
from easyrider.scopes import above, owners
from easyrider.subjects import BadToken, token
from easyrider.tree import Region, Rules


def check_regions(rules: Rules, domain_ids: set[str], faults: Faults) -> None:
    """Adds every fault of the section `regions`; a document without it is one scope, whatever its name."""
    if not rules.regions:
        return
    names = {region.id for region in rules.regions}
    for name, count in Counter(region.id for region in rules.regions).items():
        if count > 1:
            faults.add(f"regions[{name}]", f"stands {count} times: a scope has one claim")
    tops = [region.id for region in rules.regions if region.parent is None]
    if len(tops) != 1:
        faults.add(
            "regions", f"has {len(tops)} without a parent ({', '.join(tops) or 'none'}); one is the top"
        )
    at: dict[str, str] = {}
    for region in rules.regions:
        _check_region(region, names, domain_ids, faults)
        if region.domain is not None and (other := at.setdefault(region.domain, region.id)) != region.id:
            faults.add(f"regions[{region.id}].domain", f"is {region.domain!r}, which {other!r} claims too")
    _check_loops(rules, faults)
    if not faults:
        _check_nesting(rules, faults)


def _check_region(region: Region, names: set[str], domain_ids: set[str], faults: Faults) -> None:
    place = f"regions[{region.id}]"
    try:
        token(region.id)
    except BadToken as fault:
        faults.add(f"{place}.id", str(fault))
    if region.parent is None:
        for field in ("domain", "guaranteed_w"):
            if getattr(region, field) is not None:
                faults.add(f"{place}.{field}", "is not for the top, which has what is left of the tree")
        return
    if region.parent not in names:
        faults.add(f"{place}.parent", f"names {region.parent!r}, which is no region")
    if region.domain is None:
        faults.add(f"{place}.domain", "is missing: the domain that its parent grants watts to")
    elif region.domain not in domain_ids:
        faults.add(f"{place}.domain", f"names {region.domain!r}, which is no domain")
    if region.guaranteed_w is None:
        faults.add(f"{place}.guaranteed_w", "is missing: what it keeps when its parent is silent")
    elif not region.guaranteed_w > 0:
        faults.add(f"{place}.guaranteed_w", f"is {region.guaranteed_w:g}, not above 0")


def _check_loops(rules: Rules, faults: Faults) -> None:
    parents = {region.id: region.parent for region in rules.regions}
    told: set[str] = set()
    for start in parents:
        path = [start]
        while (up := parents.get(path[-1])) is not None and up not in path:
            path.append(up)
        if up is not None and up == start and not told & set(path):
            told.update(path)
            faults.add(f"regions[{start}]", f"is its own parent: {' < '.join([*path, start])}")


def _check_nesting(rules: Rules, faults: Faults) -> None:
    """The parent of a region is the region its domain hangs in; nothing hangs in two regions at once."""
    held = owners(rules)
    roots = {region.domain: region for region in rules.regions if region.domain is not None}
    for domain in rules.domains:
        ups = {up: held[up] for up in above(domain)}
        region = roots.get(domain.id)
        if region is None:
            if len(set(ups.values())) > 1:
                told = ", ".join(f"{up} in {name}" for up, name in ups.items())
                faults.add(f"domains[{domain.id}].feeds", f"hang in more than one region: {told}")
            continue
        if not ups:
            faults.add(
                f"regions[{region.id}].domain", f"is {domain.id!r}, a root: it hangs in no other region"
            )
        for up, name in ups.items():
            if name != region.parent:
                faults.add(
                    f"regions[{region.id}].parent",
                    f"is {region.parent!r}, but its domain {domain.id!r} hangs below {up!r} in region {name!r}",
                )
