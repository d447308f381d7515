"""What an installation is made for: its scopes and nodes, under which names its servers are reached, where files lie.

Kept as `site.json` in the folder that `easyrider init` writes, so that it can be added to and renewed.
"""

from pathlib import Path
from typing import Any

import msgspec

from easyrider.errors import BadTree, EasyRiderError
from easyrider.permissions import LINK, NODE_ROLES, ROLES, Place
from easyrider.scopes import children, owners
from easyrider.subjects import BadToken, token
from easyrider.tree import Leases, Rules
from easyrider.tree_reader import read

SCOPE_ROLES = ("policy", "forecaster", "infra-bridge")
"""Services that run once a region."""
GUARDIAN = "guardian"


class BadSite(EasyRiderError):
    """No installation can be made of what was asked for; nothing was written. `faults` names every one."""

    def __init__(self, faults: list[str]) -> None:
        self.faults = faults
        super().__init__("nothing was written: " + "; ".join(faults))


class Scope(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One region and its nodes."""

    region: str
    nodes: tuple[str, ...]
    below: tuple[str, ...] = ()  # regions it lends to


class Site(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that is asked of the operator once. `at`: where the folder lies on the machines that use it."""

    tree: str
    scopes: tuple[Scope, ...]
    nats_host: str
    redis_host: str
    api_host: str
    hosts: tuple[str, ...]
    buses: dict[str, str]  # host of the bus of each region that has one of its own, linked to that of the top
    listen: str
    nats_port: int
    link_port: int
    redis_port: int
    api_port: int
    monitor_port: int
    at: str
    data: str
    client_certificates: bool
    days: int
    peer_uid: int
    dead_man_s: float
    second_stage_s: float
    fallback_w: dict[str, float]  # by node; what the rules say, so that nobody keeps it equal by hand

    def bus_host(self, region: str) -> str:
        """Where the services of a region find their bus."""
        return self.buses.get(region, self.nats_host)

    @property
    def nodes(self) -> dict[str, str]:
        """The region of every node."""
        return {node: scope.region for scope in self.scopes for node in scope.nodes}


class SiteUser(msgspec.Struct, frozen=True, kw_only=True):
    """One service with a folder of its own; `name` is that of its folder, its key and its inbox."""

    name: str
    role: str
    region: str
    node: str | None = None
    below: tuple[str, ...] = ()

    @property
    def place(self) -> Place:
        """Where it works."""
        return Place(self.region, self.node, self.below)


def own_buses(told: list[str], scopes: tuple[Scope, ...]) -> dict[str, str]:
    """Hosts by region, from words like `row1=bus.row1`. Raises `BadSite`."""
    found, faults = {}, []
    below = {scope.region for scope in scopes[1:]}
    for word in told:
        region, equals, host = word.partition("=")
        if not equals or not host or region not in below:
            faults.append(
                f"--bus-of {word}: REGION=HOST, of a region below the top ({', '.join(below) or 'none'})"
            )
        found[region] = host
    if faults:
        raise BadSite(faults)
    return found


def links(site: Site) -> list[SiteUser]:
    """The links between the buses of regions and that of the top; each has a key like a user."""
    below = {scope.region: scope.below for scope in site.scopes}
    return [SiteUser(name=f"{LINK}-{r}", role=LINK, region=r, below=below[r]) for r in site.buses]


def bus_users(site: Site) -> list[SiteUser]:
    """Everyone with a key of the bus: one a region where there are several, one a node, one a site."""
    top = site.scopes[0].region
    several = len(site.scopes) > 1
    found = []
    for role in ROLES:
        if role in NODE_ROLES:
            found += [
                SiteUser(name=f"{role}-{node}", role=role, region=region, node=node)
                for node, region in site.nodes.items()
            ]
        elif role in SCOPE_ROLES:
            found += [
                SiteUser(name=f"{role}-{s.region}" if several else role, role=role, region=s.region)
                for s in site.scopes
            ]
        else:
            found.append(SiteUser(name=role, role=role, region=top))
    return found


def guardians(site: Site) -> list[SiteUser]:
    """One a node; they have settings and neither key nor network."""
    return [
        SiteUser(name=f"{GUARDIAN}-{node}", role=GUARDIAN, region=region, node=node)
        for node, region in site.nodes.items()
    ]


def scopes_of(nodes: list[str], region: str) -> tuple[Scope, ...]:
    """One region with these nodes. Raises `BadSite`."""
    faults = [f"node {fault}" for name in nodes if (fault := _fault(name))]
    faults += [f"region {fault}"] if (fault := _fault(region)) else []
    faults += [f"node {name} is named twice" for name in sorted({n for n in nodes if nodes.count(n) > 1})]
    if not nodes:
        faults.append("no node is named: --nodes n1,n2 or --tree rules.yaml")
    if faults:
        raise BadSite(faults)
    return (Scope(region=region, nodes=tuple(nodes)),)


def scopes_of_rules(rules: Rules, region: str) -> tuple[Scope, ...]:
    """The regions of a rules document with their nodes, the top first; one named `region` where it has none."""
    if not rules.regions:
        return scopes_of([node.id for node in rules.nodes], region)
    held = owners(rules)
    ordered = sorted(rules.regions, key=lambda each: each.parent is not None)
    return tuple(
        Scope(
            region=r.id,
            nodes=tuple(node.id for node in rules.nodes if held[node.domain] == r.id),
            below=tuple(child.id for child in children(rules, r.id)),
        )
        for r in ordered
    )


def told_by_rules(rules: Rules | None) -> dict[str, Any]:
    """What guardians have to know as the rules say it; the rules' own defaults where there are none."""
    leases = Leases() if rules is None else rules.leases
    nodes = () if rules is None else rules.nodes
    return {
        "dead_man_s": leases.dead_man_s,
        "second_stage_s": leases.second_stage_s,
        "fallback_w": {node.id: node.fallback_w_per_gpu for node in nodes},
    }


def refuse_removal(before: Site, after: Site) -> None:
    """Raises `BadSite` where a node would lose its users of the bus: it would fall silent at the next reload."""
    gone = [node for node in before.nodes if node not in after.nodes]
    if gone:
        raise BadSite(
            [
                f"{', '.join(gone)} would be let in by the bus no more: name every node that stays, or say "
                "--remove-nodes"
            ]
        )


def read_rules(file: Path) -> Rules:
    """The rules document. Raises `BadSite` where it cannot be read, with every fault of it."""
    try:
        return read(file.read_text(), str(file))
    except BadTree as fault:
        raise BadSite([f"{file}: {each}" for each in fault.faults]) from fault
    except (OSError, UnicodeDecodeError) as fault:
        why = fault.strerror if isinstance(fault, OSError) else "it is no text"
        raise BadSite([f"{file}: {why}"]) from fault


def _fault(name: str) -> str | None:
    try:
        token(name)
    except BadToken as fault:
        return str(fault)
    return None
