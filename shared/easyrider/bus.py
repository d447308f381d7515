"""The bus over NATS; with `bus_client` the only file that imports the client library.

Three habits of the library are worked around here. A publish while the link is down is kept and delivered late:
we raise `BusDown` instead. A forbidden subscription returns normally: a message to ourselves, sent after it, comes
back after any refusal. A client that gives up tells nobody: we reconnect for ever, and end the process if it still
closes. Commands want a connection of their own, with `buffered=False`: behind a flood of frames they waited 3.4 s.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import nats.errors
from nats.aio.msg import Msg

from easyrider import cloudevents, log, metrics, subjects, wire
from easyrider.asking import Asking
from easyrider.backlog import Backlog, Taker
from easyrider.bus_client import UNSENT_LIMIT, PromptClient, options, within
from easyrider.bus_patience import Patience
from easyrider.bus_port import (
    BusClosed,
    BusDown,
    BusRefused,
    BusShut,
    CrowdListener,
    EventNotKept,
    Handler,
    Listener,
    NoAnswer,
)
from easyrider.delivery import CrowdDelivery, Delivery, RawDelivery, dropped
from easyrider.messages import Message
from easyrider.tls import TlsFiles, why_refused

__all__ = ["Bus", "BusClosed", "BusDown", "BusRefused", "BusShut", "EventNotKept"]

_TURNS = 4
_QUEUE_MESSAGES, _QUEUE_BYTES = 65536, 64 * 1024 * 1024

_unsent = metrics.counter("bus_unsent_total", "Messages that could not leave", ["why"])
_up = metrics.gauge("bus_connected_ratio", "1 while the named connection is up", ["connection"])


class Bus(Asking):
    """One connection. Made by `Bus.connect`."""

    def __init__(self, name: str, buffered: bool, client: PromptClient) -> None:
        self.name, self._buffered = name, buffered
        self._client = client
        self._log = log.get("easyrider.bus").bind(connection=name)
        self._refusals: list[str] = []
        self._probes: dict[bytes, asyncio.Future[None]] = {}
        self._probe_subject = ""
        self._turned_away = self._waits_for = ""
        self._leaving = False
        self._given_up = False
        self._owner: asyncio.Task[Any] | None = None

    @classmethod
    @asynccontextmanager
    async def connect(
        cls,
        url: str,
        *,
        name: str,
        seed_file: Path | None = None,
        tls: TlsFiles | None = None,
        buffered: bool = True,
        wait_s: float | None = None,
    ) -> AsyncIterator["Bus"]:
        """A connected bus, closed on leaving; waits for the server for ever, or `wait_s` (then `BusDown`, `BusShut`).

        The inbox is `_INBOX_<user>`: the stem of `seed_file`, else `name` up to its first dot. `buffered=False`
        (commands): what the link had not taken when it broke is thrown away, never sent late. With `tls`, or a URL
        that asks for it, nothing is ever said in plain text.
        Raises `BusClosed` out of the block if the client gives up for good.
        """
        bus = cls(name, buffered, PromptClient(url, tls))
        user = seed_file.stem if seed_file is not None else name.partition(".")[0]
        try:
            await within(bus._open(url, user, seed_file), wait_s)
        except TimeoutError:
            await bus._client.close()
            if bus._turned_away:
                raise BusShut(log.blot(url), bus._turned_away) from None
            raise BusDown(log.blot(url), f"no server answered within {wait_s} s") from None
        bus._owner = asyncio.current_task()
        try:
            yield bus
        except asyncio.CancelledError:
            if bus._given_up:
                raise BusClosed(f"connection {name} to {log.blot(url)} closed for good") from None
            raise
        finally:
            await bus._close()

    @property
    def connected(self) -> bool:
        """Whether a message said now would leave."""
        return bool(self._client.is_connected)

    async def subscribe(
        self, pattern: str, types: tuple[type[Message], ...], handler: Handler, *, keep: int | None = None
    ) -> None:
        """See `BusPort`."""
        delivery = Delivery(self._log, types, handler)
        take = delivery if keep is None else Backlog(keep, delivery, dropped.labels("backlog").inc)
        await self._hear(pattern, take)

    async def listen(self, pattern: str, listener: Listener) -> None:
        """See `BusPort`."""
        await self._hear(pattern, RawDelivery(self._log, listener))

    async def listen_to_crowd(self, pattern: str, listener: CrowdListener) -> None:
        """See `BusPort`."""
        take = CrowdDelivery(self._log, listener)
        asked = await self._hear(pattern, take)
        self._client.hear_crowd(asked, take.on_crowd)

    async def publish(self, subject: str, message: Message) -> None:
        """See `BusPort`."""
        body = wire.encode(message)
        if not self._client.say(subject, body):
            await self._send(subject, body)

    def publish_together(self, words: Sequence[tuple[str, Message]]) -> bool:
        """See `BusPort`."""
        return self._client.say_all([(subject, wire.encode(message)) for subject, message in words])

    async def publish_event(
        self, kind: str, region: str, data: dict[str, Any], *, source: str, ack_s: float | None = None
    ) -> None:
        """See `BusPort`. Its id is told to the stream, which keeps a repeated one once."""
        subject = subjects.event(kind, region)
        identity, body = cloudevents.encode(kind, data, source=source, subject=region)
        headers = {"Nats-Msg-Id": identity}
        if ack_s is None:
            await self._send(subject, body, headers)
            return
        try:
            word = await self._request(subject, body, ack_s, headers)
        except NoAnswer as fault:
            raise EventNotKept(str(fault)) from fault
        if b'"error"' in word:
            raise EventNotKept(f"{subject}: {word.decode(errors='replace')}")

    async def keep_events(self, *, max_age_s: float = 30 * 86400, max_bytes: int = 1 << 30) -> None:
        """Have a stream that keeps every integration event, made if it is not there. Raises `BusRefused`."""
        stream = self._client.jetstream(timeout=2.0)
        try:
            await stream.add_stream(
                name=subjects.EVENT_STREAM,
                subjects=[subjects.events()],
                max_age=max_age_s,
                max_bytes=max_bytes,
            )
        except (nats.errors.Error, TimeoutError) as fault:
            raise BusRefused(subjects.events(), str(fault) or "no answer from the stream server") from fault

    async def _hear(self, pattern: str, take: Taker) -> int:
        """The subscription's number."""
        asked = await self._client.subscribe(
            pattern, cb=take.on_message, pending_msgs_limit=_QUEUE_MESSAGES, pending_bytes_limit=_QUEUE_BYTES
        )
        try:
            await self._probe(pattern)
        except BusRefused:
            await asked.unsubscribe()  # or the library asks for it again after each reconnection
            raise
        return int(asked._id)

    async def _open(self, url: str, user: str, seed_file: Path | None) -> None:
        self._waits_for = log.blot(url)
        await self._client.connect(
            [part.strip() for part in url.split(",")],
            name=self.name,
            error_cb=self._on_error,
            disconnected_cb=self._on_lost,
            reconnected_cb=self._on_back,
            closed_cb=self._on_closed,
            **options(user, seed_file),
        )
        self._waits_for = ""
        _up.labels(self.name).set(1)
        self._probe_subject = self._client.new_inbox()
        await self._client.subscribe(self._probe_subject, cb=self._on_probe)
        await self._probe(self._probe_subject)

    async def _probe(self, pattern: str) -> None:
        """Wait for a message to ourselves: when it is here, the server has seen all we sent before it."""
        token = random.randbytes(8).hex().encode()
        echo = asyncio.get_running_loop().create_future()
        self._probes[token] = echo
        try:
            patience = Patience(lambda: self._client.stats["in_msgs"])
            while not echo.done() and not patience.ends(time.monotonic()) and not self._refused(pattern):
                if self.connected:
                    await self._client.publish(self._probe_subject, token)
                await asyncio.wait({echo}, timeout=0.5)
        finally:
            del self._probes[token]
        if why := self._refused(pattern):
            raise BusRefused(pattern, why)
        if not echo.done():
            raise BusDown(pattern, "no echo of what was said to ourselves, however long we waited")

    def _refused(self, pattern: str) -> str | None:
        return next((line for line in self._refusals if f'"{pattern.lower()}"' in line), None)

    async def _request(
        self, subject: str, body: bytes, wait_s: float, headers: dict[str, str] | None = None
    ) -> bytes:
        await self._refuse_unless_sendable(subject, len(body))
        try:
            return (await self._client.request(subject, body, timeout=wait_s, headers=headers)).data
        except (nats.errors.Error, TimeoutError, OSError) as fault:
            raise NoAnswer(subject, str(fault) or "silence") from fault

    async def _send(self, subject: str, body: bytes, headers: dict[str, str] | None = None) -> None:
        await self._refuse_unless_sendable(subject, len(body))
        try:
            await self._client.publish(subject, body, headers=headers)
        except (nats.errors.Error, OSError) as fault:
            _unsent.labels("error").inc()
            raise BusDown(subject, str(fault)) from fault

    async def _refuse_unless_sendable(self, subject: str, size: int) -> None:
        for _turn in range(_TURNS):  # a burst of ours is no stuck link: let the library hand it to the kernel
            if self._client.pending_data_size + size <= UNSENT_LIMIT or not self._client.is_connected:
                break
            await asyncio.sleep(0)
        if not self._client.is_connected:
            _unsent.labels("disconnected").inc()
            raise BusDown(subject, "not connected")
        if self._client.pending_data_size + size > UNSENT_LIMIT:
            _unsent.labels("stuck").inc()
            raise BusDown(subject, "the server takes nothing more for now")

    async def _close(self) -> None:
        self._leaving = True
        _up.labels(self.name).set(0)
        if self._client.is_connected:
            try:
                async with asyncio.timeout(1.0):
                    await self._client.flush()
            except (TimeoutError, nats.errors.Error, OSError) as fault:
                self._log.warning("left with something unsaid", why=str(fault) or "no answer in time")
        await self._client.close()

    async def _on_probe(self, message: Msg) -> None:
        echo = self._probes.get(message.data)
        if echo is not None and not echo.done():
            echo.set_result(None)

    async def _on_error(self, fault: Exception) -> None:
        text = str(fault) or type(fault).__name__
        if "permissions violation" in text.lower():
            self._refusals.append(text.lower())  # the library gives some of it in lower case
            del self._refusals[:-64]
            dropped.labels("forbidden").inc()
            log.bounded(self._log, text, 10.0).error("the server forbids it", why=text)
        elif isinstance(fault, nats.errors.SlowConsumerError):
            dropped.labels("slow_consumer").inc()
            log.bounded(self._log, "slow", 10.0).warning(
                "messages dropped, we are too slow", subject=fault.subject
            )
        else:
            if isinstance(fault, nats.errors.Error) and "authorization violation" in text.lower():
                self._turned_away = text  # the library tries again for ever
            key, every_s, said = f"error {type(fault).__name__}", 10.0, "bus error"
            if self._waits_for:
                key, every_s, said = "waits", 60.0, f"no bus at {self._waits_for} yet; trying for ever"
            log.bounded(self._log, key, every_s).warning(said, why=why_refused(fault) or log.blot(text))

    async def _on_lost(self) -> None:
        _up.labels(self.name).set(0)
        if not self._buffered:
            # the library sends these after it reconnects, at any age
            self._client._pending.clear()
            self._client._pending_data_size = 0
        if not self._leaving:
            self._log.warning("connection lost; trying again for ever")

    async def _on_back(self) -> None:
        _up.labels(self.name).set(1)
        self._log.info("connected again")

    async def _on_closed(self) -> None:
        if not self._leaving and self._owner is not None:
            self._given_up = True
            self._owner.cancel()
