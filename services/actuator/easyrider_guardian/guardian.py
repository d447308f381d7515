"""The guardian's loop: requests, rounds, signals, and what the watchers are told. One thread, absolute deadlines."""

import os
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from easyrider import log, wire
from easyrider.errors import MalformedMessage
from easyrider.guardian_link import Reply, Request
from easyrider.units import nanoseconds
from easyrider.watchdog import Watchdog
from easyrider_guardian.adapters.clocks import boot_ns
from easyrider_guardian.adapters.listener import Listener, Peer
from easyrider_guardian.commands import obey
from easyrider_guardian.core import report
from easyrider_guardian.core.permission import may
from easyrider_guardian.departure import Departure
from easyrider_guardian.holding import order_hold
from easyrider_guardian.node import Node, needed
from easyrider_guardian.restoring import restore
from easyrider_guardian.rounds import Rounds

SAY_EVERY_S = 1.0
FIRST_LOOK_S, FIRST_LOOK_STEP_S = 1.0, 0.01
LEFT_WITHOUT_GRANT = 3
"""Exit code of a stop that was granted no leave: limits hold at min(present, fallback)."""


class Guardian:
    """Serves one node until `signals` holds the name of one; those after the first change nothing."""

    def __init__(
        self,
        node: Node,
        listener: Listener,
        signals: Sequence[str],
        leave_s: float,
        keep: bool,
        systemd: Watchdog | None = None,
    ) -> None:
        self._systemd = systemd or Watchdog({})
        self._node, self._listener, self._signals = node, listener, signals
        self._leave_s, self._keep = leave_s, keep
        self._rounds = Rounds(node)
        self._departure: Departure | None = None
        self._said: Any = None
        self._say_ns = 0
        self._log = log.get("guardian")

    def run(self) -> int:
        """The exit code, once stopped: 0, or `LEFT_WITHOUT_GRANT`."""
        self._look_first()
        self._systemd.ready()
        while True:
            self._systemd.turn()
            now_ns = boot_ns()
            for peer, request in self._listener.wait((self._next_ns() - now_ns) / 1e9):
                self._listener.send(peer, self._answer(peer, request))
                self._tell(boot_ns())  # before another of them is obeyed
            now_ns = boot_ns()
            self._rounds.go(now_ns)
            code = self._leave(now_ns)
            self._tell(boot_ns())
            if code is not None:
                return code

    def _look_first(self) -> None:
        """Every board read once before anybody is told of them: one told as unread counts as uncontrolled, and a
        restart would cost others their watts. What hangs is waited for no longer than `FIRST_LOOK_S`."""
        until_ns = boot_ns() + nanoseconds(FIRST_LOOK_S)
        while boot_ns() < until_ns and not self._node.all_looked_at and not self._signals:
            self._rounds.go(boot_ns())
            time.sleep(FIRST_LOOK_STEP_S)

    def _next_ns(self) -> int:
        due = [self._rounds.next_ns(), self._say_ns]
        if self._departure is not None:
            due.append(self._departure.next_ns())
        return min(due)

    def _answer(self, peer: Peer, request: Request) -> Reply:
        number = request.id
        if not may(request.verb, peer.uid, os.geteuid()):
            log.bounded(self._log, "permission", 10).warning(
                "a verb was refused", verb=request.verb, uid=peer.uid
            )
            return Reply(id=number, kind="refused", why="not_permitted")
        if request.verb == "apply":
            try:
                ack = obey(self._node, request.body, lambda: self._tell(boot_ns()))
            except MalformedMessage as fault:
                self._listener.malformed += 1
                log.bounded(self._log, fault.reason, 10).warning("a command was malformed", fault=str(fault))
                return Reply(id=number, kind="refused", why=fault.reason)
            return Reply(id=number, kind="ack", body=wire.encode(ack))
        if request.verb == "leave":
            if self._departure is None and self._node.armed:
                self._departure = Departure(self._node, "asked", self._leave_s, stops=False)
            return Reply(id=number, kind="done")
        if request.verb == "restore":
            refusals = restore(
                self._node, list(needed(self._node.baselines)), "restore", lambda _now_ns: None
            )
            return Reply(id=number, kind="restored", body=msgspec.msgpack.encode(refusals))
        if request.verb in ("hold", "clear"):
            return order_hold(self._node, number, request.verb == "hold", request.body)
        peer.watches = peer.watches or request.verb == "watch"
        return Reply(id=number, kind="state", body=self._state(boot_ns()))

    def _leave(self, now_ns: int) -> int | None:
        if self._signals and (self._departure is None or not self._departure.stops):
            if self._keep or not self._node.armed:
                self._log.info("stopping; limits stay as they are", armed=self._node.armed)
                return 0
            self._departure = Departure(self._node, self._signals[0], self._leave_s, stops=True)
        if self._departure is None:
            return None
        result = self._departure.result(now_ns)
        if result is None:
            return None
        stops, self._departure = self._departure.stops, None
        if not stops:
            return None
        return 0 if result == "restored" else LEFT_WITHOUT_GRANT

    def _tell(self, now_ns: int) -> None:
        node, listener = self._node, self._listener
        if self._departure is not None and node.armed and self._departure.says(now_ns):
            wish = report.leaving(
                node.standing, node.terms, needed(node.baselines), node.leaving or "", node.moment(now_ns)
            )
            for peer in listener.watchers:
                listener.send(peer, Reply(id=0, kind="leaving", body=wire.encode(wish)))
        shown = (node.standing, node.boards(now_ns), node.armed, node.leaving, node.hold)
        if now_ns < self._say_ns and shown == self._said:
            return
        self._said, self._say_ns = shown, now_ns + nanoseconds(SAY_EVERY_S)
        for peer in listener.watchers:
            listener.send(peer, Reply(id=0, kind="state", body=self._state(now_ns)))

    def _state(self, now_ns: int) -> bytes:
        node = self._node
        state = report.node_state(
            node.standing,
            node.terms,
            node.boards(now_ns),
            node.baselines,
            node.leaving is not None,
            node.moment(now_ns),
            node.hold is not None,
        )
        return wire.encode(state)
