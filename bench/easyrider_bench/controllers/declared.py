"""The rules document of a hall: what its operator would declare to the product."""

from typing import Any

import numpy as np

from easyrider.moments import unix_s
from easyrider.tree import Rules
from easyrider.tree_reader import read_document
from easyrider_bench.controllers.contract import Contingency, DemandTerms, Site

TREE = "hall"
BATTERY = "battery"
"""Name of a planned loss of mains; the meter of the supply tells of it."""
MONTH, MONTH_ENDS = "2026-12", "2027-01-01T00:00:00Z"
INTERVALS_TO_ITS_END = 3
"""A billed run ends a month: the interval under way, the next, and one that the run does not see closed."""


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
    if site.demand is not None:
        document |= _billed(site, site.demand)
    return read_document(document, site.name)


def clock_s(site: Site) -> float:
    """Unix seconds at 0 of the run's clock, so that its intervals are the meter's; 0 where nothing is billed."""
    if site.demand is None:
        return 0.0
    last_s = site.demand.first_begin_s + INTERVALS_TO_ITS_END * site.demand.interval_s
    return unix_s(MONTH_ENDS) - last_s


def meter_of(domain: str) -> str:
    """The name of a domain's meter."""
    return f"{domain}-meter"


def _billed(site: Site, terms: DemandTerms) -> dict[str, Any]:
    """The root's demand charge."""
    return {
        "tariffs": [
            {"id": "grid", "currency": "EUR", "periods": [{"demand_price_per_kw": terms.price_per_kw}]}
        ],
        "demands": [
            {
                "id": "feed",
                "domain": site.domains[0].id,
                "tariff": "grid",
                "work_price_per_gpu_h": terms.gpu_hour_price,
                "interval_min": round(terms.interval_s / 60.0),
                "month": MONTH,
                "month_peak_w": terms.month_peak_w,
            }
        ],
    }


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
