"""Every change, done or refused, told once: first on this disk, fsynced, then as an event on the bus."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from easyrider import log, metrics
from easyrider.bus_port import BusDown, BusPort, EventNotKept
from easyrider.errors import NotFinite
from easyrider.journal import Entry, Journal, JournalBroken
from easyrider_policy_api.change import Change
from easyrider_policy_api.core.changes import as_text
from easyrider_policy_api.late_bus import LateBus
from easyrider_policy_api.problems import Problem, audit_broken

_LOG = log.get("policy-api")
_WHOLE = metrics.gauge("api_audit_whole", "1 while changes can be audited; at 0 none is made")
_UNSAID = metrics.counter(
    "api_audit_events_unsaid_total", "changes that are in the journal and not on the bus"
)
DEADLINE_S = 2.0
"""For a disk to take a line; slower counts as broken."""
Result = Literal["done", "refused", "unknown"]


class Auditor:
    """`journal` numbers and keeps the lines; `source` names this instance in events."""

    def __init__(self, journal: Journal, bus: BusPort | LateBus, region: str, source: str) -> None:
        self._journal, self._bus, self._region, self._source = journal, bus, region, source
        self._turn = asyncio.Lock()
        self._writing: asyncio.Future[str] | None = None
        self.whole = True
        _WHOLE.set(1)

    @property
    def path(self) -> Path:
        """Where the lines are."""
        return self._journal.path

    async def intend(self, change: Change) -> None:
        """On the disk before it is done. Raises `Problem`: what cannot be audited is not done."""
        await self._write([self._line("intent", change)])
        change.intended = True

    async def finish(self, change: Change, status: int) -> None:
        """What became of it."""
        result: Result = (
            "done" if status < 400 else "unknown" if status >= 500 and change.intended else "refused"
        )
        line = self._line("result", change) | {
            "result": result,
            "status": status,
            "why": change.why,
            "version": change.version,
        }
        try:
            await self._write([line])
        except Problem as fault:  # the answer stands: what was meant is on the disk already
            log.bounded(_LOG, "audit", 10.0).error("a change's end is not in the journal", why=str(fault))
        await self._say(line)

    def close(self) -> None:
        """Let the journal go."""
        self._journal.close()

    def _line(self, what: str, change: Change) -> Entry:
        return {
            "what": what,
            "t_ns": time.time_ns(),
            **change.told,
            "before": as_text(change.before),
            "after": as_text(change.after),
        }

    async def _write(self, lines: Sequence[Entry]) -> None:
        try:
            async with asyncio.timeout(DEADLINE_S), self._turn:
                fault = await self._written(lines)
        except TimeoutError:
            fault = f"no answer from the disk in {DEADLINE_S} s"
        self.whole = not fault
        _WHOLE.set(self.whole)
        if fault:
            raise audit_broken(fault)

    async def _written(self, lines: Sequence[Entry]) -> str:
        """Empty once the lines are on the disk, else why they are not. One write at a time, the last one included."""
        if self._writing is not None and not self._writing.done():
            return "the disk has not answered since the write before"
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[str] = loop.create_future()
        self._writing = outcome

        def work() -> None:
            why = "its thread ended by a fault"
            try:
                self._journal.intend(lines)
                why = ""
            except JournalBroken as fault:
                why = fault.reason
            finally:  # whatever else was raised ends this thread and is told by it; nobody waits for ever
                with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile: nobody waits
                    loop.call_soon_threadsafe(outcome.set_result, why)

        try:
            # No pool: its threads are waited for at exit, and one in a dead disk never returns.
            threading.Thread(target=work, name="audit", daemon=True).start()
        except RuntimeError as fault:  # the machine has no thread left
            outcome.set_result(str(fault))
        return await asyncio.shield(outcome)

    async def _say(self, line: Entry) -> None:
        data: dict[str, Any] = {key: value for key, value in line.items() if key not in ("what", "t_ns")}
        try:
            await self._bus.publish_event("audit", self._region, data, source=self._source)
        except (BusDown, EventNotKept, NotFinite) as fault:
            _UNSAID.inc()
            log.bounded(_LOG, "event", 10.0).warning("a change is not told on the bus", why=str(fault))
