"""Intents before the act: what the loop means to do goes to the journal first, and a journal that fails lowers only."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from easyrider import log, metrics
from easyrider.journal import Entry, Journal, JournalBroken
from easyrider.messages import ExitGrant, GpuLimit, SetLimits
from easyrider_policy.core.commands import Command

_LOG = log.get("policy")
_WHOLE = metrics.gauge("policy_journal_whole", "1 while intents can be made durable; at 0 limits only fall")
_LOST = metrics.counter("policy_journal_lost_lines_total", "lines that a broken journal could not take")

DEADLINE_S = 0.25
"""A disk slower than this must not keep grants waiting: nodes would run into their dead-man."""
AGAIN_S = 1.0
KEPT = 20_000
"""Lines held in memory while the journal is broken; the oldest go first."""
MEANT = 4_096
"""Intents whose acks are still told apart from those of renewals."""


class Scribe:
    """Collects lines and writes them once a look, in a thread with a deadline."""

    def __init__(self, journal: Journal, boot_ns: Callable[[], int]) -> None:
        self._journal, self._boot_ns = journal, boot_ns
        self.whole = True  # the last write is on the disk
        self._lines: deque[Entry] = deque()
        self._durable = False
        self._told: dict[str, tuple[GpuLimit, ...]] = {}
        self._keys: dict[tuple[str, int, int], None] = {}
        self._writing: asyncio.Future[JournalBroken | None] | None = None
        self._written = 0
        self._again_s = -1e18
        _WHOLE.set(1)

    def note(self, entry: Entry) -> None:
        """A line for the journal, stamped now, written with the next look."""
        self._lines.append({"boottime_ns": self._boot_ns(), **entry})

    def promise(self, entry: Entry) -> None:
        """A line that has to be on the disk before what it tells is done."""
        self.note(entry)
        self._durable = True

    def meant(self, node: str, epoch: int, seq: int) -> bool:
        """Whether this command was an intent: it asked for something that the one before it did not."""
        return (node, epoch, seq) in self._keys

    def intend(self, commands: Iterable[Command]) -> None:
        """Note every command that asks for something new. A renewal and a `Hold` change nothing and are none."""
        for command in commands:
            if isinstance(command, SetLimits):
                if self._told.get(command.node) == command.limits:  # nearly always the very same
                    continue
                self._told[command.node] = command.limits
                asked: Entry = {"limits_w": {limit.uuid: limit.limit_w for limit in command.limits}}
            elif isinstance(command, ExitGrant):
                asked = {"restores": list(command.gpus) or "all"}
            else:
                continue
            self._keys[command.node, command.epoch, command.seq] = None
            while len(self._keys) > MEANT:
                del self._keys[next(iter(self._keys))]
            self.note(
                {"what": "intent", "node": command.node, "epoch": command.epoch, "seq": command.seq, **asked}
            )
            self._durable = True

    async def write(self, now_s: float) -> bool:
        """Put down what there is; whether everything meant so far is durable."""
        if self._writing is None:
            if self.whole and not self._lines:
                return True
            if not self.whole and now_s < self._again_s:
                self._forget_oldest()
                return False
            self._begin()
        assert self._writing is not None
        done, _ = await asyncio.wait({self._writing}, timeout=DEADLINE_S if self.whole else 0.0)
        if not done:
            return self._broken(now_s, f"no answer from the disk in {DEADLINE_S} s")
        fault, self._writing = self._writing.result(), None
        if fault is not None:
            return self._broken(now_s, fault.reason)
        for _ in range(self._written):
            self._lines.popleft()
        # A disk that hung may have let intents of lowers pile up behind the write that it took at last.
        before, self.whole = self.whole, not any(line.get("what") == "intent" for line in self._lines)
        if self.whole and not before:
            _LOG.warning("the journal takes lines again; limits may rise")
        _WHOLE.set(self.whole)
        return self.whole

    def _begin(self) -> None:
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[JournalBroken | None] = loop.create_future()
        batch, self._written = list(self._lines), len(self._lines)
        if not self.whole:
            batch.append({"what": "journal_back", "boottime_ns": self._boot_ns()})
        write = self._journal.intend if self._durable or not self.whole else self._journal.note
        self._durable = False

        def work() -> None:
            fault: JournalBroken | None = JournalBroken(self._journal.path, "its thread ended by a fault")
            try:
                fault = _try(write, batch)
            finally:  # whatever else was raised ends this thread and is told by it; nobody waits for ever
                with suppress(RuntimeError):  # the loop has ended meanwhile: nobody waits for the outcome
                    loop.call_soon_threadsafe(_settle, outcome, fault)

        self._writing = outcome
        try:
            # No pool: its threads are waited for at exit, and one in a dead disk never returns.
            threading.Thread(target=work, name="journal", daemon=True).start()
        except RuntimeError as fault:  # the machine has no thread left
            outcome.set_result(JournalBroken(self._journal.path, str(fault)))

    def _broken(self, now_s: float, reason: str) -> bool:
        if self.whole or self._writing is None:
            self._again_s = now_s + AGAIN_S
        self.whole, self._durable = False, True
        _WHOLE.set(0)
        log.bounded(_LOG, "journal", 10.0).error(
            "the journal cannot be written: no limit is raised", path=str(self._journal.path), fault=reason
        )
        self._forget_oldest()
        return False

    def _forget_oldest(self) -> None:
        if len(self._lines) <= KEPT:
            return
        while len(self._lines) > KEPT:
            self._lines.popleft()
            self._written = max(0, self._written - 1)
            _LOST.inc()
        self._told.clear()  # an intent may have been among them: each node's next vector is one again


def _try(write: Callable[[Sequence[Entry]], None], batch: list[Entry]) -> JournalBroken | None:
    try:
        write(batch)
    except JournalBroken as fault:
        return fault
    return None


def _settle(outcome: "asyncio.Future[JournalBroken | None]", fault: JournalBroken | None) -> None:
    if not outcome.cancelled():
        outcome.set_result(fault)
