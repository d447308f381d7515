"""`easyrider status`: who leads, in which modes, what domains draw of what they may, what is silent, what is held."""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table

from easyrider.scopes import line_of
from easyrider_cli.doors import Door, NoAnswer, Refused

_DOMAIN = (
    "domain", "kind", "observed_w", "target_w", "counted_w", "hard_limit_w", "missing_w", "sum_rule", "no_raise",
    "losses", "time_to_trip_s",
)  # fmt: skip


def status(door: Door) -> dict[str, Any]:
    """How things stand in the door's scope and all below. Raises `NoAnswer` where nobody leads the first."""
    top, rules = door.state(), door.rules()
    first = str(top["region"])
    states, silent = {first: top}, dict[str, str]()
    for region in line_of(rules, first)[1:]:
        try:
            states[region] = door.state(region)
        except (NoAnswer, Refused) as fault:
            silent[region] = fault.why
    boards = [board for state in states.values() for board in state["boards"]]
    return {
        "rules": {"id": rules.id, "version": rules.version},
        "scopes": [_scope(region, state) for region, state in states.items()],
        "silent_regions": silent,
        "domains": [
            {"region": region, **{key: row.get(key) for key in _DOMAIN}}
            for region, state in states.items()
            for row in state["domains"]
            if row.get("governed_by", "") in ("", *silent)
        ],
        "gpus": {
            "known": len(boards),
            "left_out": sum(state["left_out"].get("boards", 0) for state in states.values()),
            "by_mode": dict(Counter(board["mode"] for board in boards)),
            "limited": sum(bool(board["controlled"]) for board in boards),
        },
        "silent_nodes": [node for state in states.values() for node in state["silent_nodes"]],
        "holds": [hold.id for hold in rules.holds],
        "held_nodes": [row["node"] for state in states.values() for row in state["nodes"] if row.get("held")],
        "releases": [
            {key: row[key] for key in ("node", "why")}
            for state in states.values()
            for row in state["releases"]
            if not row.get("whole")
        ],
        "demotions": [row for state in states.values() for row in state["demotions"]],
    }


def show(told: dict[str, Any], as_json: bool, console: Console) -> int:
    """Exit code: 0 where everybody is heard, the newest rules are in force and every domain can be kept, else 1."""
    if as_json:
        sys.stdout.write(json.dumps(told) + "\n")
    else:
        for line in _head(told):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        console.print(_domains(told["domains"]))
        for line in _foot(told):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
    wrong = told["silent_regions"] or told["silent_nodes"] or any(_behind(told))
    return 1 if wrong or any((row["missing_w"] or 0) > 0 for row in told["domains"]) else 0


def _scope(region: str, state: dict[str, Any]) -> dict[str, Any]:
    lead = state["lead"]
    return {
        "region": region,
        "phase": lead["phase"],
        "epoch": lead["epoch"],
        "version": state["rules"]["version"],
        "reactive": state["reactive"],
        "nodes": len(state["nodes"]),
    }


def _behind(told: dict[str, Any]) -> Iterator[str]:
    for scope in told["scopes"]:
        if scope["version"] != told["rules"]["version"]:
            yield f"{scope['region']} has version {scope['version']} of the rules in force"


def _head(told: dict[str, Any]) -> Iterator[str]:
    rules = told["rules"]
    yield f"rules {rules['id']} version {rules['version']}"
    for scope in told["scopes"]:
        trust = ", forecasts are not trusted now" if scope["reactive"] and scope["nodes"] else ""
        yield f"{scope['region']}: {scope['phase']}, epoch {scope['epoch']}, {scope['nodes']} nodes{trust}"
    for region, why in told["silent_regions"].items():
        yield f"{region}: does not answer ({why})"
    yield from _behind(told)


def _domains(rows: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for place, heading in enumerate(
        ("domain", "draws (kW)", "target", "could draw", "hard limit", "region", "")
    ):
        table.add_column(heading, justify="left" if place in (0, 5, 6) else "right")
    for row in rows:
        watts = (row[key] for key in ("observed_w", "target_w", "counted_w", "hard_limit_w"))
        remarks = [
            f"INFEASIBLE by {row['missing_w'] / 1e3:.2f} kW" if (row["missing_w"] or 0) > 0 else "",
            f"opens in {row['time_to_trip_s']:.0f} s" if row["time_to_trip_s"] is not None else "",
            f"lost: {', '.join(row['losses'])}" if row["losses"] else "",
            f"no raise: {row['no_raise']}" if row["no_raise"] else "",
            "" if str(row["sum_rule"]).startswith("proved") else str(row["sum_rule"]),
        ]
        table.add_row(row["domain"], *map(_kw, watts), row["region"], "; ".join(filter(None, remarks)))
    return table


def _foot(told: dict[str, Any]) -> Iterator[str]:
    gpus = told["gpus"]
    modes = (
        ", ".join(f"{count} in {mode}" for mode, count in sorted(gpus["by_mode"].items())) or "none is known"
    )
    more = f"; {gpus['left_out']} fit no answer" if gpus["left_out"] else ""
    yield f"GPUs: {modes}; {gpus['limited']} hold a limit of ours{more}"
    yield f"silent nodes: {', '.join(told['silent_nodes']) or 'none'}"
    held = [*told["holds"], *(f"the guardian of {node}" for node in told["held_nodes"])]
    yield f"held by: {', '.join(held) or 'nobody'}"
    for row in told["releases"]:
        yield f"release: {row['node']} waits for {row['why']}"
    for row in told["demotions"]:
        yield f"demoted to observe: {row['node']} ({row['cause']}: {row['detail']})"


def _kw(watts: float | None) -> str:
    return "unknown" if watts is None else f"{watts / 1e3:.2f}"
