"""Curves of kinds of protective devices, as they are shipped; the rules carry the points of those they name."""

from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from easyrider.records import Faults
from easyrider.tree import CurvePoint, Rules, TripCurve

BEGIN, END = "<!-- presets: begin -->", "<!-- presets: end -->"


@cache
def tables() -> dict[str, dict[str, Any]]:
    """Every preset with what it says, rests on, and how sure that is, as `trip_curves.yaml` beside this file has it."""
    text = resources.files("easyrider").joinpath("trip_curves.yaml").read_text(encoding="utf-8")
    found: dict[str, dict[str, Any]] = yaml.safe_load(text)
    return found


@cache
def presets() -> dict[str, tuple[CurvePoint, ...]]:
    """Points of every preset, by name."""
    return {
        name: tuple(CurvePoint(multiple=float(m), time_s=float(t)) for m, t in row["points"])
        for name, row in tables().items()
    }


def with_points(rules: Rules) -> Rules:
    """The same rules, the points of presets written out: what was confirmed stays what it was in later versions."""
    if not any(isinstance(d.curve, TripCurve) and not d.curve.points for d in rules.domains):
        return rules
    domains = []
    for domain in rules.domains:
        curve = domain.curve
        if isinstance(curve, TripCurve) and not curve.points:
            domain = replace(domain, curve=replace(curve, points=presets().get(curve.preset, ())))
        domains.append(domain)
    return replace(rules, domains=tuple(domains))


def check_preset(place: str, curve: TripCurve, faults: Faults) -> None:
    """Adds what is wrong with where a curve comes from."""
    if curve.preset and curve.preset not in presets():
        faults.add(f"{place}.preset", f"is {curve.preset!r}, not one of {', '.join(presets())}")
    if not curve.preset and not curve.points:
        faults.add(place, "names neither a preset nor points")
    if curve.cooling_s <= 0:
        faults.add(f"{place}.cooling_s", f"is {curve.cooling_s:g}, not above 0")


def written_into(page: str) -> str:
    """A page with the table of presets between its marks."""
    lines = ["| preset | of | multiple: seconds | sure | rests on |", "|---|---|---|---|---|"]
    for name, row in tables().items():
        points = ", ".join(f"{multiple:g}: {time_s:g}" for multiple, time_s in row["points"])
        lines.append(f"| `{name}` | {row['says']} | {points} | {row['sure']} | {row['source']} |")
    lines += ["", "Sure: B one source read, C a quotation of a standard, D an estimate of the trade."]
    before, _, rest = page.partition(BEGIN)
    return "\n".join([before + BEGIN, *lines, END]) + rest.partition(END)[2]


if __name__ == "__main__":
    place = Path("docs/power-tree.md")
    place.write_text(written_into(place.read_text(encoding="utf-8")), encoding="utf-8")
