"""From raw bytes to a handler's call, in the order of arrival."""

import asyncio
import time
from typing import Any, Protocol

from easyrider import log, metrics, wire
from easyrider.boundary import shielded, stopped
from easyrider.bus_port import Arrival, Crowd, CrowdListener, Handler, Listener
from easyrider.errors import MalformedMessage
from easyrider.messages import Message

_TURN_S = 0.005

received = metrics.counter("bus_received_total", "Messages handled", ["kind"])
dropped = metrics.counter("bus_dropped_total", "Messages dropped before a handler saw them", ["reason"])
failed = metrics.counter("bus_handler_failures_total", "Handlers that raised", ["kind"])


class Raw(Protocol):
    """A message as a client library gives it."""

    @property
    def subject(self) -> str:
        """Where it was said."""
        ...

    @property
    def data(self) -> bytes:
        """What was said."""
        ...

    @property
    def reply(self) -> str:
        """Where an answer is awaited; empty: nowhere."""
        ...


def understood(logger: Any, subject: str, data: bytes, types: tuple[type[Message], ...]) -> Message | None:
    """The message in these bytes; None where they are malformed, which is counted and told."""
    try:
        return wire.decode(data, types)
    except MalformedMessage as fault:
        dropped.labels(fault.reason).inc()
        log.bounded(logger, f"malformed {fault.reason}", 10.0).warning(
            "a malformed message was dropped", reason=fault.reason, subject=subject, why=str(fault)
        )
        return None


class Delivery:
    """Decodes for one subscription; what fails is counted and told, and the next message is taken."""

    def __init__(self, logger: Any, types: tuple[type[Message], ...], handler: Handler) -> None:
        kinds = "|".join(wire.kind_of(kind) for kind in types)
        self._log, self._types, self._handler = logger, types, handler
        self._handled, self._failures = received.labels(kinds), failed.labels(kinds)
        self._turn_began_s = 0.0

    async def on_message(self, raw: Raw) -> None:
        """Handle one message to its end."""
        arrival = Arrival(raw.subject, time.monotonic_ns(), raw.reply)
        message = understood(self._log, raw.subject, raw.data, self._types)
        if message is None:
            return
        await shielded(lambda: self._handler(message, arrival), lambda fault: self._tell(raw.subject, fault))
        self._handled.inc()
        if time.monotonic() - self._turn_began_s > _TURN_S:  # a flood may not keep everything else waiting
            await asyncio.sleep(0)
            # Begun when it is ours again: counted from before, each turn of a busy loop would take one message.
            self._turn_began_s = time.monotonic()

    def _tell(self, subject: str, fault: Exception) -> None:
        self._failures.inc()
        _tell(self._log, subject, fault)


class RawDelivery:
    """Hands over bytes for one subscription; what a listener raises is counted and told."""

    def __init__(self, logger: Any, listener: Listener) -> None:
        self._log, self._listener = logger, listener
        self._handled, self._failures = received.labels("bytes"), failed.labels("bytes")
        self._turn_began_s = 0.0

    async def on_message(self, raw: Raw) -> None:
        """Hand over one message to its end."""
        arrival = Arrival(raw.subject, time.monotonic_ns(), raw.reply)
        await shielded(
            lambda: self._listener(raw.data, arrival), lambda fault: self._failed(raw.subject, fault)
        )
        self._handled.inc()
        if time.monotonic() - self._turn_began_s > _TURN_S:
            await asyncio.sleep(0)
            self._turn_began_s = time.monotonic()

    def _failed(self, subject: str, fault: Exception) -> None:
        self._failures.inc()
        _tell(self._log, subject, fault)


class CrowdDelivery:
    """Hands over crowds for one subscription, and lone messages as crowds of one."""

    def __init__(self, logger: Any, listener: CrowdListener) -> None:
        self._log, self._listener = logger, listener
        self._handled, self._failures = received.labels("bytes"), failed.labels("bytes")

    async def on_message(self, raw: Raw) -> None:
        """Before the client knows that this is a crowd, or where it knows no crowds."""
        self.on_crowd([(raw.subject.encode(), raw.data)], time.monotonic_ns())

    def on_crowd(self, crowd: Crowd, now_ns: int) -> None:
        """Hand over what came together."""
        stopped(lambda: self._listener(crowd, now_ns), lambda fault: self._failed(crowd, fault))
        self._handled.inc(len(crowd))

    def _failed(self, crowd: Crowd, fault: Exception) -> None:
        self._failures.inc(len(crowd))
        _tell(self._log, crowd[0][0].decode(errors="replace"), fault)


def _tell(logger: Any, subject: str, fault: Exception) -> None:
    log.bounded(logger, f"handler {type(fault).__name__}", 1.0).error(
        "a handler failed; the next message is taken", subject=subject, exc_info=fault
    )
