"""`easyrider release`: a controlled way back to what boards were found with, within every limit, or a refusal."""

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console

from easyrider.tree import SELECTOR_KEYS, Rules
from easyrider_cli.doors import Door, Refused, Scope, fit_reason
from easyrider_cli.whole_state import NotWhole, whole_state
from easyrider_policy.core.foretelling import foretell
from easyrider_policy.core.unforetold import Unforetold
from easyrider_policy_api.core import selectors
from easyrider_policy_api.core.releasing import released

_LOOK_S = 0.5


@dataclass(slots=True)
class Released:
    """What came of it. `forbidden_w`: wall watts that each domain would lack; `waiting`: nodes and what for."""

    done: bool
    gpus: int
    nodes: list[str]
    version: int | None = None
    forbidden_w: dict[str, float] = field(default_factory=dict)
    waiting: dict[str, str] = field(default_factory=dict)
    why: str = ""


def scope_of(words: Sequence[str], nodes: Sequence[str]) -> Scope:
    """The selector of `key=value[,value]` words, or of `all`. Raises `Refused` for what is none."""
    scope: dict[str, tuple[str, ...]] = {"node": tuple(nodes)} if nodes else {}
    if not scope and list(words) == ["all"]:
        return {}
    for word in words:
        key, sign, values = word.partition("=")
        if not sign or key not in SELECTOR_KEYS or not all(values.split(",")):
            raise Refused(
                f"{word!r} is no scope: node=n1, rack=pdu-1 or another of {', '.join(SELECTOR_KEYS)}; or all"
            )
        scope[key] = (*scope.get(key, ()), *values.split(","))
    if not scope:
        raise Refused("release what? A scope like node=n1 or rack=pdu-1, or all")
    return scope


def release(
    door: Door,
    scope: Scope,
    reason: str,
    wait_s: float,
    say: Callable[[str], None],
    region: str | None = None,
    override: str = "",
) -> Released:
    """Foretell, edit, watch. Nothing is changed where the sums forbid it, a hold stops it, or a name is unknown.

    Nor is it where what it comes to cannot be foretold, unless `override` says why it is to be done all the same.
    """
    fit_reason(reason)
    fit_reason(override)
    rules = door.rules()
    if lost := selectors.unnamed(scope, rules, "scope"):
        raise Refused("; ".join(f"{place} {fault}" for place, fault in lost) + "; nothing was changed")
    try:
        state = whole_state(door, rules)
        foretold = _foretold(rules, released(rules, scope, reason, ""), state, region or str(state["region"]))
    except (NotWhole, Unforetold) as fault:
        return _unforetold(door, scope, reason, override, fault.why)
    if not foretold.gpus:
        foretold.done, foretold.why = True, "no GPU of this scope is limited"
        return foretold
    if foretold.forbidden_w or foretold.why:
        return foretold
    say(f"{foretold.gpus} GPUs on {', '.join(foretold.nodes)}: the sums allow it; others make room first")
    done = door.release(scope, reason)
    foretold.version = done.version
    if not done.in_force:
        foretold.why = f"saved as version {done.version}, and not in force yet: {done.why}"
        return foretold
    return _watched(door, rules, foretold, wait_s, say)


def show(found: Released, as_json: bool, console: Console) -> int:
    """Exit code: 0 where everything is as it was found, 1 where it is not."""
    if as_json:
        told = {name: getattr(found, name) for name in found.__slots__}
        sys.stdout.write(json.dumps(told) + "\n")
    else:
        console.print(_sentence(found), highlight=False, markup=False, soft_wrap=True)
    return 0 if found.done else 1


def _foretold(before: Rules, after: Rules, state: dict[str, Any], region: str) -> Released:
    told = foretell(before, after, state, region)
    why = f"a hold stops every raise there ({', '.join(told.holds)}): clear it first" if told.holds else ""
    lacks_w = {} if told.holds else dict(told.lacking_w)
    return Released(done=False, gpus=told.gpus, nodes=list(told.nodes), forbidden_w=lacks_w, why=why)


def _unforetold(door: Door, scope: Scope, reason: str, override: str, why: str) -> Released:
    if not override:
        raise Refused(
            f"what a release comes to cannot be foretold: {why}; nothing was changed. With --override REASON it is "
            "done all the same: limits stay until the sums allow more"
        )
    done = door.release(scope, reason, override)
    late = "" if done.in_force else f", not in force yet ({done.why})"
    said = f"saved as version {done.version}{late}; {why}, so what comes of it is not watched: see `easyrider status`"
    return Released(done=False, gpus=0, nodes=[], version=done.version, why=said)


def _watched(
    door: Door, rules: Rules, found: Released, wait_s: float, say: Callable[[str], None]
) -> Released:
    until_s, told = time.monotonic() + wait_s, ""
    while True:
        try:
            state = whole_state(door, rules)
        except NotWhole as fault:
            if time.monotonic() >= until_s:
                found.why = f"not seen done in {wait_s:.0f} s: {fault.why}; it goes on by itself"
                return found
            time.sleep(_LOOK_S)
            continue
        mine = set(found.nodes)
        waits = {row["node"]: row for row in state["releases"] if not row["whole"] and row["node"] in mine}
        limited = [
            row
            for row in state["boards"]
            if row["node"] in mine and row["controlled"] and row["mode"] in ("observe", "shadow")
        ]
        if not waits and not limited:
            found.done, found.waiting = True, {}
            return found
        found.waiting = {node: _waits(row) for node, row in sorted(waits.items())}
        lines = "; ".join(f"{node} {why}" for node, why in found.waiting.items()) or "the nodes' answers"
        if lines != told:
            told = lines
            say(f"{len(limited)} of {found.gpus} GPUs still limited: {lines}")
        if time.monotonic() >= until_s:
            found.why = f"not done in {wait_s:.0f} s; it goes on by itself, the modes stay at observe"
            return found
        time.sleep(_LOOK_S)


def _waits(row: dict[str, Any]) -> str:
    missing = ", ".join(f"{watts:.0f} W in {domain}" for domain, watts in row["missing_w"].items())
    return f"waits for {row['why']}" + (f", missing {missing}" if missing else "")


def _sentence(found: Released) -> str:
    if found.forbidden_w:
        lacks = ", ".join(f"{domain} lacks {watts:.0f} W" for domain, watts in found.forbidden_w.items())
        return (
            f"refused, nothing was changed: with every other GPU at its least the sums still forbid what "
            f"{', '.join(found.nodes)} had before ({lacks})"
        )
    if found.done:
        return found.why or f"released: {found.gpus} GPUs on {', '.join(found.nodes)} are as they were found"
    return f"not released: {found.why}"
