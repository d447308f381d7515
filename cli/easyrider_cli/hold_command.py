"""`easyrider hold`: no raise anywhere, or in some domains, until it is cleared; lowers and the dead-man go on."""

import getpass
import json
import secrets
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console

from easyrider.guardian_link import GuardianLink
from easyrider.moments import rfc_3339
from easyrider.tree import HoldRule
from easyrider_cli.doors import Done, Door, Refused, fit_reason
from easyrider_cli.restore_command import NoGuardian


def hold(door: Door, domains: Iterable[str], reason: str) -> dict[str, Any]:
    """What was done, for machines. Raises `Refused`."""
    rule = HoldRule(
        id=f"hold-{secrets.token_hex(3)}",
        domains=tuple(domains),
        reason=fit_reason(reason),
        since=rfc_3339(time.time()),
        by=whoami(),
    )
    done = door.hold(rule)
    return {"id": rule.id, "domains": list(rule.domains), "reason": reason, **_told(done)}


def clear(door: Door, ids: Iterable[str], domains: Iterable[str]) -> dict[str, Any]:
    """The same for holds taken away: those named, those of these domains, else every one. Raises `Refused`."""
    wanted, places = set(ids), set(domains)
    holds = door.rules().holds
    chosen = [h for h in holds if h.id in wanted or (places and set(h.domains) & places)]
    if not wanted and not places:
        chosen = list(holds)
    if missing := wanted - {h.id for h in chosen}:
        known = ", ".join(h.id for h in holds) or "none"
        raise Refused(f"there is no hold {', '.join(sorted(missing))} (there is: {known})")
    done = [door.clear(h.id) for h in chosen]
    last = _told(done[-1]) if done else {"version": door.rules().version, "in_force": True, "why": ""}
    return {"cleared": [h.id for h in chosen], "left": [h.id for h in holds if h not in chosen], **last}


def on_node(socket: Path, reason: str | None) -> dict[str, Any]:
    """Hold one node through its guardian, or clear it (`reason` None).

    Raises `Refused`, `NoGuardian`, `LinkRefused`.
    """
    if reason is not None:
        fit_reason(reason)
    if not socket.exists():
        raise NoGuardian(socket)
    with GuardianLink.open(socket) as guardian:
        if reason is None:
            guardian.clear()
        else:
            guardian.hold(reason)
        state = guardian.state()
    return {"node": state.node, "held": state.held, "armed": state.armed}


def show(told: dict[str, Any], as_json: bool, console: Console) -> int:
    """Exit code: 0 where it is in force, 1 where it is saved and nobody has it in force yet."""
    if as_json:
        sys.stdout.write(json.dumps(told) + "\n")
    else:
        console.print(_sentence(told), highlight=False, markup=False, soft_wrap=True)
    return 0 if told.get("in_force", True) else 1


def whoami() -> str:
    """Who says it, for those who ask later; a name, no proof."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "somebody"


def _told(done: Done) -> dict[str, Any]:
    return {"version": done.version, "in_force": done.in_force, "why": done.why}


def _sentence(told: dict[str, Any]) -> str:
    if "node" in told:
        if told["held"]:
            return f"{told['node']}: its guardian takes no raise, over restarts too, until `hold --clear --socket`"
        return f"{told['node']}: its guardian takes raises again"
    where = f"rules version {told['version']}"
    if not told["in_force"]:
        return f"saved as {where}, and not in force yet: {told['why']}"
    if "cleared" in told:
        gone, left = ", ".join(told["cleared"]) or "there was none", ", ".join(told["left"])
        return f"cleared {gone}; " + (f"still held by {left}" if left else "limits may rise") + f" ({where})"
    place = ", ".join(told["domains"]) or "any domain"
    return f"{told['id']}: no limit rises in {place} until `hold --clear`; lowers go on ({where})"
