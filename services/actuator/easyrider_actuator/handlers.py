"""Between bus and guardian: what one says the other hears. Nothing is decided here, so nothing can be forged here.

Killed, frozen or replaying, a relay can only make a command older, and the guardian measures age itself.
"""

import asyncio
import contextlib
import dataclasses
import time
from collections import deque
from collections.abc import Callable

from easyrider import log, metrics, subjects, wire
from easyrider.bus_port import Arrival, BusDown, BusPort
from easyrider.guardian_link import (
    AsyncGuardianLink,
    LinkBroken,
    LinkRefused,
    Reply,
    as_ack,
    as_leaving,
    as_state,
)
from easyrider.messages import ExitGrant, Hold, Leaving, NodeState, SetLimits
from easyrider_actuator.config import Config
from easyrider_actuator.core.drift import Drift, notice

COMMANDS = (SetLimits, Hold, ExitGrant)
ASK_S = 5.0
SAYINGS_LIMIT = 64
AGAIN_S = 0.2
LEAVING_S = 6.0

_relayed = metrics.counter("actuator_commands_total", "Commands relayed to the guardian", ["answer"])
_unsaid = metrics.counter("actuator_unsaid_total", "States, acks and events that could not leave", ["kind"])


class Relay:
    """One node's relay."""

    def __init__(self, config: Config, bus: BusPort) -> None:
        self._config, self._bus = config, bus
        self._link: AsyncGuardianLink | None = None
        self._state: NodeState | None = None
        self._state_s: float | None = None
        self._sayings: deque[NodeState | Leaving | Drift] = deque(maxlen=SAYINGS_LIMIT)
        self._news, self._heard = asyncio.Event(), asyncio.Event()
        self._log = log.get("relay")

    def age_s(self) -> float | None:
        """Age of the guardian's last state; None before the first."""
        return None if self._state_s is None else time.monotonic() - self._state_s

    async def on_command(self, command: SetLimits | Hold | ExitGrant, _arrival: Arrival) -> None:
        """Hand a command to the guardian and say its ack."""
        if self._link is None:
            _relayed.labels("no_guardian").inc()
            return
        try:
            ack = as_ack(await self._link.ask("apply", wire.encode(command), ASK_S))
        except (LinkBroken, LinkRefused) as fault:
            _relayed.labels("unanswered").inc()
            log.bounded(self._log, "apply", 10).warning("a command got no ack", why=str(fault))
            return
        _relayed.labels("accepted" if ack.accepted else "refused").inc()
        try:
            await self._bus.publish(subjects.ack(self._config.region, self._config.node), ack)
        except BusDown:
            _unsaid.labels("ack").inc()

    async def follow(self) -> None:
        """Stay connected to the guardian, whichever process it is now."""
        while True:
            try:
                link = await AsyncGuardianLink.connect(self._config.socket_path, self._told)
            except LinkBroken as fault:
                log.bounded(self._log, "link", 10).warning("no guardian", why=str(fault))
                await asyncio.sleep(AGAIN_S)
                continue
            await self._serve(link)

    async def speak(self) -> None:
        """Say what the guardian told, in order; what cannot leave now is dropped, the next state says it all."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._sayings:
                await self._say(self._sayings.popleft())

    async def linger(self) -> None:
        """Before a stop: a guardian that leaves needs this relay to ask for its leave and to get it."""
        if self._state is None or not self._state.armed:
            return
        await self._until(self._leaving, self._config.linger_s)
        await self._until(lambda: not self._leaving(), LEAVING_S)

    def _leaving(self) -> bool:
        return self._link is not None and self._state is not None and self._state.leaving

    async def _until(self, true: Callable[[], bool], within_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while not true():
                    self._heard.clear()
                    await self._heard.wait()

    async def _serve(self, link: AsyncGuardianLink) -> None:
        self._state = None  # another process: what it changed at its start is no drift
        listening = asyncio.ensure_future(link.listen())
        try:
            self._told(await link.ask("watch"))
            self._link = link
            self._log.info("following the guardian", socket=str(self._config.socket_path))
            await listening
        except LinkBroken as fault:
            self._log.warning("the guardian's connection ended", why=fault.why)
        finally:
            self._link = None
            self._heard.set()
            link.close()
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    def _told(self, reply: Reply) -> None:
        if reply.kind == "leaving":
            self._tell(as_leaving(reply))
            return
        if reply.kind != "state":
            return  # the ack of a command whose wait was given up
        state = as_state(reply)
        for drift in notice(self._state, state):
            self._tell(drift)
        self._state, self._state_s = state, time.monotonic()
        self._heard.set()
        self._tell(state)

    def _tell(self, saying: NodeState | Leaving | Drift) -> None:
        self._sayings.append(saying)
        self._news.set()

    async def _say(self, saying: NodeState | Leaving | Drift) -> None:
        region, node = self._config.region, self._config.node
        try:
            if isinstance(saying, Drift):
                self._log.warning("a limit moved without a command", **dataclasses.asdict(saying))
                data = {"node": node, **dataclasses.asdict(saying)}
                await self._bus.publish_event("drift", region, data, source=f"actuator/{node}")
            else:
                await self._bus.publish(subjects.state(region, node), saying)
        except BusDown:
            _unsaid.labels("event" if isinstance(saying, Drift) else "state").inc()
