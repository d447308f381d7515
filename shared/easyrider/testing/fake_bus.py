"""A bus in memory: bytes on the wire, one queue a subscription, like the real one."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from easyrider import cloudevents, event_kinds, log, subjects, wire
from easyrider.asking import Asking
from easyrider.backlog import Backlog, Taker
from easyrider.bus_port import BusDown, BusRefused, CrowdListener, EventNotKept, Handler, Listener, NoAnswer
from easyrider.delivery import CrowdDelivery, Delivery, RawDelivery, dropped
from easyrider.messages import Message


@dataclass(frozen=True, slots=True)
class _Raw:
    subject: str
    data: bytes
    reply: str = ""


@dataclass
class Exchange:
    """What several fake buses share: who listens, what was said."""

    listeners: list[tuple[str, "asyncio.Queue[_Raw]"]] = field(default_factory=list)
    said: list[tuple[str, bytes]] = field(default_factory=list)
    inboxes: dict[str, "asyncio.Future[bytes]"] = field(default_factory=dict)

    def say(self, subject: str, body: bytes, reply: str = "") -> int:
        """Hand it to every listener whose pattern fits; how many that were."""
        self.said.append((subject, body))
        if (waiting := self.inboxes.get(subject)) is not None and not waiting.done():
            waiting.set_result(body)
        heard_by = [queue for pattern, queue in self.listeners if subjects.covers(pattern, subject)]
        for queue in heard_by:
            queue.put_nowait(_Raw(subject, body, reply))
        return len(heard_by)


class FakeBus(Asking):
    """`forbidden`: subjects this user may not use; `connected = False`: the link is down."""

    def __init__(self, exchange: Exchange | None = None, forbidden: tuple[str, ...] = ()) -> None:
        self.exchange = exchange or Exchange()
        self.connected = True
        self._forbidden = forbidden
        self._tasks: list[asyncio.Task[None]] = []
        self._queues: list[asyncio.Queue[_Raw]] = []

    @classmethod
    @asynccontextmanager
    async def connect(
        cls, exchange: Exchange | None = None, forbidden: tuple[str, ...] = ()
    ) -> AsyncIterator["FakeBus"]:
        """A bus whose deliveries end with the block."""
        bus = cls(exchange, forbidden)
        try:
            yield bus
        finally:
            await bus.close()

    async def subscribe(
        self, pattern: str, types: tuple[type[Message], ...], handler: Handler, *, keep: int | None = None
    ) -> None:
        """See `BusPort`."""
        delivery = Delivery(log.get("easyrider.testing"), types, handler)
        self._hear(
            pattern, delivery if keep is None else Backlog(keep, delivery, dropped.labels("backlog").inc)
        )

    async def listen(self, pattern: str, listener: Listener) -> None:
        """See `BusPort`."""
        self._hear(pattern, RawDelivery(log.get("easyrider.testing"), listener))

    async def listen_to_crowd(self, pattern: str, listener: CrowdListener) -> None:
        """See `BusPort`."""
        self._hear(pattern, CrowdDelivery(log.get("easyrider.testing"), listener))

    async def publish(self, subject: str, message: Message) -> None:
        """See `BusPort`."""
        self._say(subject, wire.encode(message))

    def publish_together(self, words: Sequence[tuple[str, Message]]) -> bool:
        """See `BusPort`."""
        if not self.connected:
            return False
        for subject, message in words:
            self._say(subject, wire.encode(message))
        return True

    async def publish_event(
        self, kind: str, region: str, data: dict[str, Any], *, source: str, ack_s: float | None = None
    ) -> None:
        """See `BusPort`. There is no stream here: asking for its word raises `EventNotKept`.

        Stricter than the real one, which keeps what it is given: what is not in the catalogue raises `EventMisfit`.
        """
        _identity, body = cloudevents.encode(kind, data, source=source, subject=region)
        event_kinds.check(kind, json.loads(body)["data"])
        self._say(subjects.event(kind, region), body)
        if ack_s is not None:
            raise EventNotKept(f"{subjects.event(kind, region)}: no stream in a fake bus")

    def events(self, kind: str) -> list[dict[str, Any]]:
        """The data of every event of a kind said so far."""
        pattern = subjects.events_of(kind)
        return [
            json.loads(body)["data"]
            for subject, body in self.exchange.said
            if subjects.covers(pattern, subject)
        ]

    async def settle(self) -> None:
        """Return when every message said so far was handled."""
        for queue in self._queues:
            await queue.join()

    async def close(self) -> None:
        """End the deliveries."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _request(
        self, subject: str, body: bytes, wait_s: float, _headers: dict[str, str] | None = None
    ) -> bytes:
        inbox = f"_INBOX_fake.{uuid.uuid4().hex}"
        word: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.exchange.inboxes[inbox] = word
        try:
            if not self._say(subject, body, inbox):
                raise NoAnswer(subject, "nobody listens there")
            async with asyncio.timeout(wait_s):
                return await word
        except TimeoutError as fault:
            raise NoAnswer(subject, "silence") from fault
        finally:
            del self.exchange.inboxes[inbox]

    def _hear(self, pattern: str, take: Taker) -> None:
        if any(subjects.covers(banned, pattern) for banned in self._forbidden):
            raise BusRefused(pattern, "forbidden in this test")
        queue: asyncio.Queue[_Raw] = asyncio.Queue()
        self.exchange.listeners.append((pattern, queue))
        self._queues.append(queue)
        self._tasks.append(asyncio.get_running_loop().create_task(_pump(queue, take)))

    def _say(self, subject: str, body: bytes, reply: str = "") -> int:
        if not self.connected:
            raise BusDown(subject, "not connected")
        if any(subjects.covers(banned, subject) for banned in self._forbidden):
            return 0  # as the real one: not delivered
        return self.exchange.say(subject, body, reply)


async def _pump(queue: "asyncio.Queue[_Raw]", take: Taker) -> None:
    while True:
        raw = await queue.get()
        try:
            await take.on_message(raw)
        finally:
            queue.task_done()
