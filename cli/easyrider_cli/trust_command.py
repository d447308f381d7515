"""How far each scope has come, in lines: its mode, what it has shown, and what is missing for the next."""

import json
import sys
from typing import Any

from rich.console import Console

_SHARES = {
    "false_cap_ratio": "false caps",
    "foretold_slowdown": "slowdown foretold",
    "happened_slowdown": "happened",
    "slowdown_error": "off by",
    "trusted_ratio": "forecasts trusted",
}


def show(told: dict[str, Any], as_json: bool, console: Console) -> None:
    """One JSON line for machines, else lines for people."""
    if as_json:
        sys.stdout.write(json.dumps(told) + "\n")
        return
    for line in lines(told):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def lines(told: dict[str, Any]) -> list[str]:
    """Every scope with its numbers; what is not known is said to be unknown."""
    found = [line for scope in told["scopes"] for line in _scope(scope)]
    return found or ["no scope is known yet: no GPU was heard"]


def _scope(scope: dict[str, Any]) -> list[str]:
    found = [f"{scope['scope']}: {scope['gpus']} GPUs in {scope['mode']}"]
    if (back := scope["taken_back"]) is not None:
        found.append(f"  taken back from {scope['declared']}, {back['cause']}: {back['detail']}")
    if (stage := scope["stages"].get(scope["mode"])) is not None:
        found.append(f"  seen so for {stage['days']:.2f} days: {_seen(stage)}")
    if scope["next"] is not None:
        verb = "may rise" if scope["met"] else "may not rise yet"
        found.append(f"  {verb} to {scope['next']}")
    found += [
        f"    {'+' if check['met'] else '-'} {check['name'].replace('_', ' ')}: {_number(check['seen'])} "
        f"of {check['wanted']:g}"
        for check in scope["checks"]
    ]
    return found


def _seen(stage: dict[str, Any]) -> str:
    lead = "unknown" if stage["lead_s"] is None else f"{stage['lead_s']:.0f} s"
    shares = ", ".join(f"{name} {_share(stage[key])}" for key, name in _SHARES.items())
    return (
        f"{stage['capped_job_hours']:.2f} of {stage['job_hours']:.2f} job hours would have been slowed; "
        f"peaks {stage['peaks']}, missed {stage['missed_peaks']}, lead {lead}; {shares}"
    )


def _share(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.1%}"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:g}"
