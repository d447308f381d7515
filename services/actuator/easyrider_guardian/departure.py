"""Leaving: ask for leave to restore, and without it hold the lower of present and fallback."""

from dataclasses import replace
from typing import Literal

from easyrider import log
from easyrider.units import nanoseconds
from easyrider_guardian.adapters.clocks import boot_ns
from easyrider_guardian.core import deadman, repair
from easyrider_guardian.node import Node

REPEAT_S = 0.25
Result = Literal["restored", "held", "not_verified"]


class Departure:
    """One wish to leave, from its first word to its result. A stop ends the process with it, a verb does not."""

    def __init__(self, node: Node, reason: str, leave_s: float, stops: bool) -> None:
        self._node, self._until_ns = node, boot_ns() + nanoseconds(leave_s)
        self._say_ns = 0
        self.stops = stops
        self._log = log.get("departure")
        node.leaving = reason
        self._log.info("leaving: asking for leave to restore", reason=reason, armed=node.armed)

    def next_ns(self) -> int:
        """CLOCK_BOOTTIME of the next thing to do."""
        return min(self._say_ns, self._until_ns)

    def says(self, now_ns: int) -> bool:
        """Whether the wish is to be said (again) now."""
        if now_ns < self._say_ns:
            return False
        self._say_ns = now_ns + nanoseconds(REPEAT_S)
        return True

    def result(self, now_ns: int) -> Result | None:
        """What came of it; None while it is open."""
        if not self._node.armed:
            return self._ended("restored")
        return None if now_ns < self._until_ns else self._ended(self._hold_lower())

    def _ended(self, result: Result) -> Result:
        self._node.leaving = None
        if result == "restored":
            self._log.info("restored and disarmed")
        else:
            # A guardian that stops answers nobody: what finishes it must do without.
            way = "`easyrider-guardian --restore`" if self.stops else "`easyrider restore`, said again,"
            self._log.error(
                f"no leave was granted: min(present, fallback) holds; {way} finishes it",
                verified=result == "held",
            )
        return result

    def _hold_lower(self) -> Result:
        node = self._node
        node.crew.look_now()
        node.absorb()
        readings = node.readings(boot_ns())
        changed = {
            uuid: deadman.settle(held, 1, node.terms, reading)
            for uuid, held in node.standing.controlled.items()
            if (reading := readings.get(uuid)) is not None
        }
        node.keep(replace(node.standing.with_holdings(changed)))
        orders = [
            node.order(uuid, held.present_w, False, "exit", node.still_held(uuid))
            for uuid, held in changed.items()
            if (reading := readings[uuid]) is not None and repair.drifted(held, reading)
        ]
        outcomes = node.carry_out(orders)
        silent = any(readings.get(uuid) is None for uuid in node.standing.controlled)
        verified = not silent and all(outcome.problem is None for outcome in outcomes.values())
        return "held" if verified else "not_verified"
