"""Looks at every board on an absolute timer, in threads: a board that hangs holds up itself alone.

One thread, the common lane, reads all healthy boards. When a row is overdue the event loop calls `check`: if a
call is still under way, its thread is left alone with that board and a fresh one carries on with the others, in
the same tick. A board that answers briskly again returns to the common lane. So there is never more than
one call under way per board, and never more threads than boards and one.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from easyrider import quality
from easyrider.devices.board_readings import FastReading, SlowReading
from easyrider_telemetry.core.pace import CounterRead

_NS = 1_000_000_000
_LEAST_OVERRUN_NS = 20_000_000
_SLOW_CALLS = 2
_BRISK_CALLS = 20
_NOBODY = -1
_RETRY_NS = _NS
BURST_READS, BURST_SPACING_NS, BURST_AT_MOST_NS = 300, 2_000_000, _NS


class Reader(Protocol):
    """A board as the sampler sees it; every call may block."""

    def fast(self) -> FastReading:
        """Power, energy, limit."""
        ...

    def slow(self) -> SlowReading:
        """Temperature, utilisation and so on."""
        ...


@dataclass(slots=True)
class Row:
    """Looks of one tick, by slot, the last at `read_ns`. `alone`: one board outside the common lane."""

    tick_ns: int
    fast: dict[int, FastReading]
    slow: dict[int, SlowReading]
    alone: bool = False
    read_ns: int = 0


@dataclass(slots=True, eq=False)
class _Lane:
    slots: list[int]
    row: Row
    todo: list[int]
    alone: bool = False
    busy: int | None = None
    began_ns: int = 0


class Sampler:
    """Reads boards by slot and hands rows out, from its threads, to `hand`; counter bursts to `learn`."""

    def __init__(
        self,
        period_s: float,
        hand: Callable[[Row], None],
        learn: Callable[[int, list[CounterRead]], None],
    ) -> None:
        self.period_ns = round(period_s * _NS)
        self.overrun_ns = max(_LEAST_OVERRUN_NS, self.period_ns // 4)
        self.late_ticks = 0
        self._slow_every = max(1, round(1 / period_s))
        self._hand, self._learn = hand, learn
        self._lock = threading.Lock()
        self._readers: dict[int, Reader] = {}
        self._unlearned: set[int] = set()
        self._retry_ns: dict[int, int] = {}
        self._slow_calls: dict[int, int] = {}
        self._common: _Lane | None = None
        self._alone: dict[int, _Lane] = {}
        self._epoch_ns = 0
        self._stopping = False

    def put(self, readers: Mapping[int, Reader]) -> None:
        """Readers by slot, new or anew; a board under way keeps its lane. The first call starts the thread."""
        with self._lock:
            self._readers.update(readers)
            self._unlearned |= readers.keys()
            for slot in readers:
                self._retry_ns.pop(slot, None)
            lane, is_first = self._common, self._common is None
            if lane is None:
                self._epoch_ns = time.monotonic_ns()
                self._common = lane = _Lane(slots=[], row=Row(self._epoch_ns, {}, {}), todo=[])
            lane.slots = sorted({*lane.slots, *readers} - self._alone.keys())
        if is_first:
            self._begin(lane)

    def rest(self) -> None:
        """No board is read in the common lane until `put` names it again: its handles are about to become void."""
        with self._lock:
            if self._common is not None:
                self._common.slots = []

    def stop(self) -> None:
        """No further look begins. Threads in a call are left to it; they do not keep the process."""
        self._stopping = True

    def check(self, now_ns: int) -> int | None:
        """Part a board that holds up the common lane from the others; its slot, or None. Never blocks."""
        with self._lock:
            lane = self._common
            if lane is None or lane.busy is None or now_ns - lane.began_ns < self.overrun_ns:
                return None
            slot = lane.busy
            rest = [other for other in lane.slots if other != slot]
            row = lane.row if lane.todo else Row(lane.row.tick_ns, {}, {})  # none was begun in a burst
            fresh = _Lane(slots=rest, row=row, todo=[other for other in lane.todo if other in rest])
            lane.slots, lane.todo, lane.row, lane.alone = (
                [slot],
                [],
                Row(lane.row.tick_ns, {}, {}, alone=True),
                True,
            )
            self._alone[slot], self._common = lane, fresh
        self._begin(fresh)
        return slot

    def outstanding_s(self, now_ns: int) -> dict[int, float]:
        """By slot, how long a call outside the common lane has been under way."""
        with self._lock:
            return {
                slot: (now_ns - lane.began_ns) / _NS
                for slot, lane in self._alone.items()
                if lane.busy is not None
            }

    def apart(self) -> set[int]:
        """Slots that are read outside the common lane."""
        with self._lock:
            return set(self._alone)

    def _begin(self, lane: _Lane) -> None:
        threading.Thread(target=self._run, args=(lane,), name="nvml", daemon=True).start()

    def _run(self, lane: _Lane) -> None:
        if lane.todo or lane.row.fast:  # carries on with the tick of a thread that hangs
            self._read_todo(lane, self._turn(lane))
        while not self._stopping:
            if lane.alone:
                self._run_alone(lane)
                return
            if self._unlearned and (slots := [slot for slot in lane.slots if slot in self._unlearned]):
                self._burst(lane, slots)
                continue
            tick_ns = self._sleep_to_tick(lane.row.tick_ns)
            with self._lock:
                lane.row, retry_ns = Row(tick_ns, {}, {}), self._retry_ns
                lane.todo = [slot for slot in lane.slots if not retry_ns or retry_ns.get(slot, 0) <= tick_ns]
            self._read_todo(lane, self._turn(lane))

    def _turn(self, lane: _Lane) -> int:
        """Whose turn it is to be asked for slow readings, slots being counted modulo the looks of a second."""
        return (lane.row.tick_ns - self._epoch_ns) // self.period_ns % self._slow_every

    def _sleep_to_tick(self, last_ns: int) -> int:
        now_ns = time.monotonic_ns()
        due_ns = last_ns + self.period_ns
        if due_ns < now_ns - self.period_ns:  # never hurry to catch up: a tick missed is a gap
            missed = (now_ns - due_ns) // self.period_ns
            self.late_ticks += missed
            due_ns += missed * self.period_ns
        if due_ns > now_ns:
            time.sleep((due_ns - now_ns) / _NS)
        return due_ns

    def _read_todo(self, lane: _Lane, turn: int) -> None:
        """Boards of one tick, read one after the other and handed on, unless meanwhile others went on without us.

        One piece on purpose: woken with cold caches, a thread pays for each function that it goes through.
        """
        row, todo, readers, lock, every = lane.row, lane.todo, self._readers, self._lock, self._slow_every
        began_ns = time.monotonic_ns()
        while todo:
            slot = todo[0]
            reader = readers[slot]
            lane.began_ns = began_ns
            lane.busy = slot
            fast = reader.fast()
            ended_ns, code, slow = fast[0], fast[9], None
            if slot % every == turn and code == 0:
                slow = reader.slow()
                ended_ns = slow.mono_ns
            with lock:
                lane.busy = None
                if lane.alone:
                    row = lane.row
                row.fast[slot] = fast
                if slow is not None:
                    row.slow[slot] = slow
                if code or slot in self._retry_ns:
                    self._note(slot, fast)
                if lane.alone:
                    return
                del todo[0]
                if ended_ns - began_ns > self.overrun_ns:
                    self._note_overrun(lane, slot)
                elif self._slow_calls:
                    self._slow_calls.pop(slot, None)
            began_ns = ended_ns
        row.read_ns = began_ns
        self._hand(row)

    def _note_overrun(self, lane: _Lane, slot: int) -> None:
        self._slow_calls[slot] = self._slow_calls.get(slot, 0) + 1
        if self._slow_calls[slot] >= _SLOW_CALLS:
            self._part(lane, slot)

    def _note(self, slot: int, fast: FastReading) -> None:
        """A board that answers nothing is asked once a second, not ten times."""
        if fast.code and fast.power_ok and fast.energy_ok:
            self._retry_ns[slot] = fast.mono_ns + _RETRY_NS
        else:
            self._retry_ns.pop(slot, None)

    def _part(self, lane: _Lane, slot: int) -> None:
        lane.slots = [other for other in lane.slots if other != slot]
        own = _Lane(slots=[slot], row=Row(lane.row.tick_ns, {}, {}, alone=True), todo=[], alone=True)
        self._alone[slot] = own
        self._begin(own)

    def _run_alone(self, lane: _Lane) -> None:
        slot, brisk, looks = lane.slots[0], 0, 0
        if lane.row.fast:
            self._hand(lane.row)
        while not self._stopping and brisk < _BRISK_CALLS:
            if slot in self._unlearned:
                self._burst(lane, [slot])
            tick_ns = self._sleep_to_tick(lane.row.tick_ns)
            lane.row, lane.todo = Row(tick_ns, {}, {}, alone=True), [slot]
            if self._retry_ns.get(slot, 0) > tick_ns:
                continue
            began_ns = time.monotonic_ns()
            self._read_todo(lane, slot % self._slow_every if looks % self._slow_every == 0 else _NOBODY)
            looks += 1
            brisk = brisk + 1 if time.monotonic_ns() - began_ns < self.overrun_ns else 0
            self._hand(lane.row)
        with self._lock:
            del self._alone[slot]
            self._slow_calls.pop(slot, None)
            if self._common is not None:
                self._common.slots = sorted({*self._common.slots, slot})

    def _burst(self, lane: _Lane, slots: list[int]) -> None:
        """Fast reads of the counters, so that their pace is known before a difference is believed."""
        reads: dict[int, list[CounterRead]] = {slot: [] for slot in slots}
        answering = list(slots)
        next_ns = time.monotonic_ns()
        until_ns = next_ns + BURST_AT_MOST_NS
        for _ in range(BURST_READS):
            for slot in tuple(answering):
                with self._lock:
                    lane.busy, lane.began_ns = slot, time.monotonic_ns()
                reading = self._readers[slot].fast()
                with self._lock:
                    lane.busy = None
                    if lane.alone and slots != lane.slots:
                        return  # this one board held up the others, which begin again without it
                if reading.energy_ok == quality.VALID:
                    reads[slot].append(
                        CounterRead(reading.mono_ns, reading.energy_mj, reading.energy_stamp_us)
                    )
                else:
                    answering.remove(slot)
            if self._stopping or not answering or time.monotonic_ns() > until_ns:
                break
            next_ns += BURST_SPACING_NS
            if (pause_ns := next_ns - time.monotonic_ns()) > 0:
                time.sleep(pause_ns / _NS)
        for slot in slots:
            self._unlearned.discard(slot)
            if reads[slot]:
                self._learn(slot, reads[slot])
