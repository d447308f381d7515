"""NetBox's power panels and power feeds as domains of the rules; every fault named, nothing guessed.

A feed's rating is volts x amperes, x 1.732 with three phases, whose volts NetBox gives between phases; its
`max_utilization` becomes the share that is the target. NetBox knows no rating of a panel: it is read from the custom
field `easyrider_rating_w`, the panel above from `easyrider_parent`, and a panel without a rating is left out. A rack
with a primary and a redundant feed is a domain on two feeds, of which either carries all when the other is lost.
"""

import math
import re
from dataclasses import dataclass, field
from typing import Any

ACTIVE = "active"


@dataclass(slots=True)
class Imported:
    """Domains as rows of a rules document, what was left out or assumed, and what is wrong."""

    domains: list[dict[str, Any]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def imported(document: Any) -> Imported:
    """Domains of what NetBox's API answered: `power-panels` and `power-feeds`, each a list or a page of results."""
    found = Imported()
    feeds = _rows(document, "power-feeds", found)
    panels = _rows(document, "power-panels", found) if _has(document, "power-panels") else []
    if not feeds and not found.faults:
        found.faults.append("power-feeds is empty: there is nothing to import")
    rated = _panels(panels, found)
    racks: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for row in feeds:
        _feed(row, rated, racks, found)
    for rack, fed_by in racks.items():
        _rack(rack, fed_by, found)
    _twice(found)
    _over_parent(found)
    return found


def _panels(panels: list[dict[str, Any]], found: Imported) -> dict[str, str]:
    """Ids of panels that have a rating, by their name."""
    ratings = {str(row.get("name")): _custom(row, "easyrider_rating_w") for row in panels}
    rated = {name: _id(name) for name, watts in ratings.items() if watts is not None}
    for name, watts in ratings.items():
        if watts is None:
            found.remarks.append(
                f"panel {name} has no rating in NetBox (custom field easyrider_rating_w): left out, no limit is kept"
            )
        elif not _positive(watts):
            found.faults.append(f"panel {name}: easyrider_rating_w is {watts!r}, no number above 0")
            rated.pop(name)
    for row in panels:
        name = str(row.get("name"))
        if name not in rated:
            continue
        domain: dict[str, Any] = {"id": rated[name], "kind": "panel", "rating_w": float(ratings[name])}
        above = _custom(row, "easyrider_parent")
        if above is not None and str(above) not in rated:
            found.faults.append(f"panel {name}: hangs below {above!r}, which is no panel with a rating")
        elif above is not None:
            domain["parent"] = rated[str(above)]
        found.domains.append(domain)
    return rated


def _feed(
    row: dict[str, Any],
    panels: dict[str, str],
    racks: dict[str, list[tuple[str, dict[str, Any]]]],
    found: Imported,
) -> None:
    name = str(row.get("name"))
    status = _value(row.get("status")) or ACTIVE
    if status != ACTIVE:
        found.remarks.append(f"feed {name} is {status}: left out")
        return
    values: list[Any] = [row.get(key) for key in ("voltage", "amperage", "max_utilization")]
    volts, amps, share = values
    faults = [
        f"feed {name}: {key} is {value!r}, no number above 0"
        for key, value in (("voltage", volts), ("amperage", amps))
        if not _positive(abs(value) if key == "voltage" and _number(value) else value)  # minus 48 V is DC
    ]
    if share is not None and not (_number(share) and 0 < share <= 100):
        faults.append(f"feed {name}: max_utilization is {share!r}, outside 1..100")
    phase = _value(row.get("phase")) or "single-phase"
    if phase not in ("single-phase", "three-phase"):
        faults.append(f"feed {name}: phase is {phase!r}, not single-phase or three-phase")
    supply = _value(row.get("supply")) or "ac"
    if supply == "dc" and phase == "three-phase":
        faults.append(f"feed {name}: is dc and three-phase")
    found.faults += faults
    if faults:
        return
    three = phase == "three-phase"
    watts = abs(float(volts)) * float(amps) * (math.sqrt(3.0) if three else 1.0)
    domain: dict[str, Any] = {
        "id": _id(name),
        "kind": "feed",
        "rating_w": round(watts, 1),
        "phases": 3 if three else 1,
        "limit_a": float(amps),
        "voltage_v": abs(float(volts)),
        "target_share": 0.8 if share is None else float(share) / 100.0,
    }
    panel = row.get("power_panel")
    panel_name = str(panel.get("name")) if isinstance(panel, dict) else None
    if panel_name is None:
        found.faults.append(f"feed {name}: names no power_panel")
    elif panel_name in panels:
        domain["parent"] = panels[panel_name]
    found.domains.append(domain)
    rack = row.get("rack")
    if isinstance(rack, dict):
        kind = _value(row.get("type")) or "primary"
        racks.setdefault(str(rack.get("name")), []).append((kind, domain))


def _rack(rack: str, fed_by: list[tuple[str, dict[str, Any]]], found: Imported) -> None:
    """A rack below its feed, or on two of them; it can draw what the smaller one carries alone."""
    kinds = sorted(kind for kind, _ in fed_by)
    smallest_w = min(feed["rating_w"] for _, feed in fed_by)
    least_share = min(feed["target_share"] for _, feed in fed_by)
    domain: dict[str, Any] = {
        "id": _id(rack), "kind": "rack", "rating_w": smallest_w, "target_share": least_share
    }  # fmt: skip
    names = ", ".join(feed["id"] for _, feed in fed_by)
    if kinds == ["primary"]:
        domain["parent"] = fed_by[0][1]["id"]
    elif kinds == ["primary", "redundant"]:
        by_kind = {kind: feed["id"] for kind, feed in fed_by}
        domain["feeds"] = {"A": by_kind["primary"], "B": by_kind["redundant"]}
    elif "primary" not in kinds:
        found.faults.append(f"rack {rack}: its primary feed is missing, {names} is redundant")
        return
    else:
        found.faults.append(
            f"rack {rack}: has the feeds {names} ({', '.join(kinds)}); one primary, and at most one redundant, "
            "make a domain"
        )
        return
    found.domains.append(domain)


def _over_parent(found: Imported) -> None:
    rating_w = {domain["id"]: domain["rating_w"] for domain in found.domains}
    for domain in found.domains:
        above = domain.get("parent")
        if above in rating_w and domain["rating_w"] > rating_w[above]:
            found.faults.append(
                f"{domain['id']}: is rated {domain['rating_w']:g} W, above the {rating_w[above]:g} W of {above}"
            )


def _twice(found: Imported) -> None:
    seen: dict[str, str] = {}
    for domain in found.domains:
        if (kind := seen.setdefault(domain["id"], domain["kind"])) and domain["kind"] != kind:
            found.faults.append(f"{domain['id']}: is a {kind} and a {domain['kind']}; names must differ")


def _has(document: Any, name: str) -> bool:
    return isinstance(document, dict) and (name in document or name.replace("-", "_") in document)


def _rows(document: Any, name: str, found: Imported) -> list[dict[str, Any]]:
    """Rows of a section; a page that has another one after it is told, since half a tree is a wrong tree."""
    section: Any = document
    if _has(document, name):
        section = document.get(name, document.get(name.replace("-", "_")))
    if isinstance(section, dict) and "results" in section:
        if section.get("next"):
            found.faults.append(f"{name} is one page of several: ask NetBox with limit=0")
        section = section["results"]
    if not isinstance(section, list) or not all(isinstance(row, dict) for row in section):
        found.faults.append(f"{name} is no list of rows, nor a page of results")
        return []
    nameless = [index for index, row in enumerate(section) if not isinstance(row.get("name"), str)]
    found.faults += [f"{name}[{index}] has no name" for index in nameless]
    return [row for row in section if isinstance(row.get("name"), str)]


def _value(choice: Any) -> str:
    """A choice as NetBox tells it, {value, label}, or as its export writes it."""
    told = choice.get("value") if isinstance(choice, dict) else choice
    return told.lower() if isinstance(told, str) else ""


def _custom(row: dict[str, Any], key: str) -> Any:
    fields = row.get("custom_fields")
    told = fields.get(key) if isinstance(fields, dict) else None
    return told.get("name") if isinstance(told, dict) else told  # of a field that names another object


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _positive(value: Any) -> bool:
    return _number(value) and value > 0


def _id(name: str) -> str:
    """A name as an id: letters, digits, - and _ stay."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-").lower() or "unnamed"
