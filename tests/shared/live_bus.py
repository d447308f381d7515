"""Ears and voices on the bus of a running site, for tests that are not asynchronous themselves."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from easyrider import subjects, wire
from easyrider.bus import Bus
from easyrider.messages import (
    ExitGrant,
    Hold,
    JobEvent,
    Leaving,
    LimitAck,
    MeterReading,
    NodeFrame,
    NodeState,
    Plan,
    PowerForecast,
    SetLimits,
)
from easyrider.messages.base import Message
from easyrider_cli.servers import Servers

KINDS = (
    ExitGrant, Hold, JobEvent, Leaving, LimitAck, MeterReading, NodeFrame, NodeState, Plan, PowerForecast, SetLimits,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Heard:
    """One message, and when it came."""

    message: Any
    subject: str
    at_s: float  # time.monotonic


class Ear:
    """Everything heard since it was opened, oldest first."""

    def __init__(self) -> None:
        self.heard: list[Heard] = []

    def of(self, kind: type[Message], since_s: float = 0.0, **fields: Any) -> list[Heard]:
        """Messages of one kind with these field values, not older than `since_s`."""
        return [
            each
            for each in list(self.heard)
            if each.at_s >= since_s
            and isinstance(each.message, kind)
            and all(getattr(each.message, name) == value for name, value in fields.items())
        ]


@contextmanager
def ear(servers: Servers, *patterns: str, user: str = "recorder") -> Iterator[Ear]:
    """Listen on patterns, all of a region's by default, commands included; connects again by itself."""
    wanted = patterns or tuple(subjects.every(kind) for kind in subjects.KINDS if kind != "event")
    found = Ear()

    async def listen(bus: Bus) -> None:
        for pattern in wanted:
            await bus.subscribe(
                pattern,
                KINDS,
                lambda message, arrival: found.heard.append(
                    Heard(message, arrival.subject, time.monotonic())
                ),
            )

    with _connected(servers, user) as (bus, run):
        run(listen(bus))
        yield found


class Voice:
    """Speaks as one user of the bus."""

    def __init__(self, bus: Bus, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._bus, self._run = bus, run

    def say(self, subject: str, message: Message) -> None:
        """A message, as a service says it."""
        self.say_raw(subject, wire.encode(message))

    def say_raw(self, subject: str, *bodies: bytes) -> None:
        """Any bytes at all, as many as there are, as fast as they go."""

        async def send() -> None:
            for body in bodies:
                await self._bus._client.publish(subject, body)
            await self._bus._client.flush()

        self._run(send())


@contextmanager
def voice(servers: Servers, user: str) -> Iterator[Voice]:
    """A voice with the rights of one user of the bus."""
    with _connected(servers, user) as (bus, run):
        yield Voice(bus, run)


@contextmanager
def _connected(
    servers: Servers, user: str
) -> Iterator[tuple[Bus, Callable[[Coroutine[Any, Any, Any]], Any]]]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name=f"bus of {user}", daemon=True)
    thread.start()

    def run(work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(20)

    opened: asyncio.Future[Bus] | None = None
    close = asyncio.Event()
    settings = servers.bus(user)

    async def live(ready: asyncio.Future[Bus]) -> None:
        async with Bus.connect(str(settings["nats_url"]), name=user, seed_file=settings["seed_file"]) as bus:  # type: ignore[arg-type]
            ready.set_result(bus)
            await close.wait()

    async def begin() -> tuple[Bus, asyncio.Task[None]]:
        nonlocal opened
        opened = loop.create_future()
        task = loop.create_task(live(opened))
        await asyncio.wait({opened, task}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            await task
        return opened.result(), task

    async def end(task: asyncio.Task[None]) -> None:
        close.set()
        await task

    try:
        bus, task = run(begin())
        try:
            yield bus, run
        finally:
            run(end(task))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()


class Supply:
    """What a bridge says of a UPS with so many modules, said by a test."""

    def __init__(
        self, speaking: Voice, region: str = "local", domain: str = "ups", modules_total: int = 5
    ) -> None:
        self._voice, self._seq = speaking, 0
        self._region, self._domain, self._modules_total = region, domain, modules_total

    def say(self, modules_ok: int) -> None:
        """So many of its modules work: limits shrink with them, or come back."""
        self._seq += 1
        reading = MeterReading(
            region=self._region,
            meter="ups-1",
            domain=self._domain,
            boot_id="bridge",
            seq=self._seq,
            t_ns=time.time_ns(),
            mono_ns=time.monotonic_ns(),
            period_s=1.0,
            device="ups",
            quality="good",
            gated=True,
            modules_total=self._modules_total,
            modules_ok=modules_ok,
        )
        self._voice.say(subjects.meter(self._region, "ups-1"), reading)
