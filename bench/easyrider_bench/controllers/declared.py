"""The rules document of a hall: what its operator would declare to the product."""

from typing import Any

import numpy as np

from easyrider.tree import Rules
from easyrider.tree_reader import read_document
from easyrider_bench.controllers.contract import Contingency, Site

TREE = "hall"
BATTERY = "battery"
"""Name of a planned loss of mains; the meter of the supply tells of it."""


def rules_of(site: Site) -> Rules:
    """Every board in `enforce`, the device minimum as fallback, the product's defaults for the rest."""
    document: dict[str, Any] = {
        "tree": {"id": TREE, "version": 1},
        "domains": [_domain(site, place) for place in range(len(site.domains))],
        "classes": dict(_classes(site).values()),
        "nodes": [
            {
                "id": name,
                "domain": site.domains[int(site.domain_of[node])].id,
                "class": _classes(site)[_kind(site, node)][0],
                "fallback_w_per_gpu": float(site.min_w.max()),
                "boot_guard": True,
            }
            for node, name in enumerate(site.node_ids)
        ],
        "modes": [{"selector": {"node": ["*"]}, "mode": "enforce", "reason": "bench", "since": ""}],
        "priorities": {
            name: {"weight": priority.weight, "max_slowdown": priority.max_slowdown}
            for name, priority in site.priorities.items()
        },
        "leases": {"dead_man_s": site.dead_man_s},
    }
    return read_document(document, site.name)


def meter_of(domain: str) -> str:
    """The name of a domain's meter."""
    return f"{domain}-meter"


def _domain(site: Site, place: int) -> dict[str, Any]:
    domain = site.domains[place]
    document: dict[str, Any] = {
        "id": domain.id,
        "kind": domain.kind,
        "rating_w": domain.rating_w,
        "hard_limit_w": domain.hard_limit_w,
        "target_w": domain.target_w,
        "curve": [{"multiple": multiple, "time_s": time_s} for multiple, time_s in domain.curve],
        "fixed_w": domain.fixed_w,
        "unmanaged_max_w": domain.unmanaged_max_w,
        "meters": [meter_of(domain.id)],
        "contingencies": [
            *(_contingency(planned) for planned in domain.contingencies),
            *_other_feed_lost(site, place),
        ],
        **_above(site, place),
    }
    if domain.modules:
        document["supply_modules"] = domain.modules
    return document


def _above(site: Site, place: int) -> dict[str, Any]:
    """What feeds a domain: another one, or two where the site has two feeds."""
    parent = site.domains[place].parent
    if parent is not None:
        return {"parent": site.domains[parent].id}
    if site.feeds is None or place in site.feeds:
        return {}
    side_a, side_b = (site.domains[feed].id for feed in site.feeds)
    return {"feeds": {"A": side_a, "B": side_b}}


def _other_feed_lost(site: Site, place: int) -> list[dict[str, Any]]:
    """What a feed may carry without the other one: as much as ever, but all of it."""
    if site.feeds is None or place not in site.feeds:
        return []
    other, domain = site.domains[sum(site.feeds) - place], site.domains[place]
    return [
        {
            "name": f"{other.id} lost",
            "when": "feed_lost",
            "feed": other.id,
            "hard_limit_w": domain.hard_limit_w,
            "target_w": domain.target_w,
        }
    ]


def _contingency(planned: Contingency) -> dict[str, Any]:
    document: dict[str, Any] = {"name": planned.name, "hard_limit_w": planned.hard_limit_w}
    if planned.name == BATTERY:
        document |= {"when": "on_battery", "target_w": planned.target_w}
    return document


def _kind(site: Site, node: int) -> tuple[float, float, int]:
    boards = int(np.count_nonzero(site.node_of == node))
    return float(site.overhead_w[node]), float(site.overhead_slope[node]), boards


def _classes(site: Site) -> dict[tuple[float, float, int], tuple[str, dict[str, Any]]]:
    """(name, document) of every kind of node."""
    found: dict[tuple[float, float, int], tuple[str, dict[str, Any]]] = {}
    for node in range(len(site.node_ids)):
        kind = _kind(site, node)
        overhead_w, slope, boards = kind
        document = {
            "overhead_w": overhead_w,
            "overhead_slope": slope,
            "gpu_min_w": float(site.min_w.min()),
            "gpu_max_w": float(site.max_w.max()),
            "gpu_count": boards,
        }
        found.setdefault(kind, (f"kind-{len(found)}", document))
    return found
