"""What an explanation says, in sentences: what binds, what it costs, what one more watt is worth, what frees it."""

import json
import sys
from typing import Any

from rich.console import Console

from easyrider_cli.doors import Kind

_DRAWN = {"target": "target (what is drawn)", "hard": "hard limit (what could be drawn)"}


def show(kind: Kind, told: dict[str, Any], as_json: bool, console: Console) -> None:
    """One JSON line for machines, else lines for people."""
    if as_json:
        sys.stdout.write(json.dumps(told) + "\n")
        return
    for line in lines(kind, told):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def lines(kind: Kind, told: dict[str, Any]) -> list[str]:
    """The sentences, one a line; numbers that are not known are said to be unknown."""
    match kind:
        case "gpu":
            return [*_gpu(told), *_frees(told)]
        case "job":
            return [*_job(told), *_frees(told)]
        case "domain":
            return [*_domain(told), *_frees(told)]


def _gpu(told: dict[str, Any]) -> list[str]:
    where = " below ".join(["", *told["domains"]]).strip()
    found = [
        f"{told['gpu']} on {told['node']} {where}, in {told['mode']}: {told['reason']}".replace("  ", " "),
        f"draws {_w(told['power_w'])}; asked to hold {_w(told['requested_w'])}, enforces {_w(told['enforced_w'])}, "
        f"counted as {_w(told['counted_w'])} (range {_w(told['min_w'])} to {_w(told['max_w'])})",
    ]
    if told["waiting_for"]:
        found.append(f"a raise waits: {told['waiting_for']}")
    return found if told["job"] is None else found + _job(told["job"])


def _job(told: dict[str, Any]) -> list[str]:
    found = [
        f"{told['job']} on {told['gpu_count']} GPUs, in {told['mode']}: {told['reason']}; limit "
        f"{_w(told['limit_w'])} of the {_w(told['demand_w'])} per GPU that it would draw"
    ]
    if (cost := told["cost"]) is not None:
        found.append(
            f"costs {cost['slowdown']:.1%} of its speed, {cost['lost_boards']:.2f} GPUs' worth; "
            f"{cost['taken_board_w']:.0f} W taken off its GPUs, {cost['taken_wall_w']:.0f} W at the wall; "
            f"one more watt on each GPU gives {cost['speed_per_board_w']:.3%} of speed"
        )
    found += [_binds(one) for one in told["binds"]]
    if told.get("waiting_for"):
        found.append(f"a raise of {told['waiting_w']:.0f} W per GPU waits: {told['waiting_for']}")
    return found


def _domain(told: dict[str, Any]) -> list[str]:
    found = [
        f"{told['domain']} ({told['kind']}) draws {_w(told['observed_w'])} of its target {_w(told['target_w'])}; "
        f"could draw {_w(told['counted_w'])} of its hard limit {_w(told['hard_limit_w'])}"
    ]
    if told["binds"] is None:
        return [*found, "binds nobody"]
    found += [
        f"{_binds(told['binds'])}; jobs bound: {told['bound_jobs']}",
        f"costs {told['lost_boards']:.2f} GPUs' worth of speed ({told['lost_weighted']:.2f} by priority), "
        f"{told['taken_wall_w']:.0f} W at the wall taken",
    ]
    found += [
        f"  {job['job']}: {job['slowdown']:.1%} slower, {job['taken_wall_w']:.0f} W taken"
        for job in told["jobs"]
    ]
    return found


def _binds(one: dict[str, Any]) -> str:
    return (
        f"binds: {one['domain']} at its {_DRAWN[one['limit']]}; one more kW there is worth "
        f"{one['price'] * 1e3:.3f} GPUs' worth of speed; it binds no longer {one['rise_w']:.0f} W higher"
    )


def _frees(told: dict[str, Any]) -> list[str]:
    if not told["frees"]:
        return ["nothing to free"]
    return [
        f"frees: {way['act'].replace('_', ' ')} {way['place']}".rstrip()
        + ("" if way["by_w"] is None else f" by {way['by_w']:.0f} W")
        + f" ({way['says']})"
        for way in told["frees"]
    ]


def _w(watts: float | None) -> str:
    return "unknown" if watts is None else f"{watts:.0f} W"
