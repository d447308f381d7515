"""What becomes of the looks at all boards of one tick: cells, a frame, and the frame on its way, in one thread."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from easyrider import metrics
from easyrider.devices.board_readings import FastReading
from easyrider.devices.identity import Identity
from easyrider.devices.readings import BoardReader
from easyrider.errors import EasyRiderError
from easyrider_telemetry.adapters.frame_way import FrameWay
from easyrider_telemetry.adapters.host import HostReader
from easyrider_telemetry.adapters.sampler import Row, Sampler
from easyrider_telemetry.core.frame import FrameBuilder, HostLoad
from easyrider_telemetry.core.pace import CounterRead, Pace
from easyrider_telemetry.core.roster import Roster

_NS = 1_000_000_000
_HUNG_S = 3.0
_ANEW_AFTER_S, _ANEW_AT_MOST_S = 1.0, 10.0
_MEASURE_EVERY_S = 5

_rejected = metrics.gauge(
    "telemetry_readings_rejected", "Readings out of range or blank since start", ["gpu", "reason"]
)
_boards = metrics.gauge("telemetry_boards", "Boards by what they do", ["state"])
_energy = metrics.gauge(
    "telemetry_energy_joules", "Energy since start, counted or integrated", ["gpu", "method"]
)
_apart = metrics.gauge(
    "telemetry_sources_disagree", "1 while counter and power field differ by over 20 %", ["gpu"]
)
_looks = metrics.gauge("telemetry_looks", "Looks at boards since start", ["group"])
_late = metrics.gauge("telemetry_late_ticks", "Ticks of the sampling timer that were missed")
_dropped = metrics.counter("telemetry_unsent_total", "Messages that found no bus", ["what"])


@dataclass(frozen=True, slots=True)
class Learned:
    """A burst showed how a board's counter moves; None: not yet."""

    uuid: str
    pace: Pace | None


@dataclass(frozen=True, slots=True)
class BoardState:
    """A board does something else than before."""

    uuid: str
    state: str


@dataclass(frozen=True, slots=True)
class NoBoardAnswers:
    """The fault is the driver's; `code` is what it says. NVML has to begin anew."""

    code: int


@dataclass(frozen=True, slots=True)
class BadFrame:
    """A frame that may not travel; it was dropped."""

    fault: EasyRiderError


RowNews = Learned | BoardState | NoBoardAnswers | BadFrame


class RowDesk:
    """Works in the threads that read the boards, in one of them at a time, and waits for nothing.

    What somebody has to be told is handed to `tell`: a log that is stuck holds up no look.
    """

    def __init__(
        self,
        builder: FrameBuilder,
        roster: Roster,
        sampler: Sampler,
        way: FrameWay,
        put_off: Callable[[], object],
        tell: Callable[[RowNews], None],
        *,
        frame_s: float,
    ) -> None:
        self._builder, self._roster, self._sampler, self._way = builder, roster, sampler, way
        self._put_off, self._tell = put_off, tell
        self._one_at_a_time = threading.Lock()
        self._due_ns = round(frame_s * _NS) - sampler.period_ns // 2
        self._slow_every = max(1, round(1 / frame_s))
        self._host_reader, self._host = HostReader(), HostLoad()
        self._frames = self._unsent = 0
        self._last_frame_ns = 0
        self._valid_ns: int | None = None
        self._failing_ns: int | None = None
        self._anew_s = _ANEW_AFTER_S
        self._pending: dict[int, FastReading] = {}
        self._readers: dict[int, BoardReader] = {}
        self._states: dict[int, str] = {}
        self._seconds = self._looks = self._slow_looks = 0

    def age_s(self) -> float | None:
        """Since the newest look that gave a valid reading of any board; None before the first."""
        return None if self._valid_ns is None else (time.monotonic_ns() - self._valid_ns) / _NS

    def found(self, boards: Sequence[tuple[Identity, BoardReader]]) -> dict[int, BoardReader]:
        """Boards that answered, known from the next row on; gives the readers that are new, by slot."""
        roster, new = self._roster, {}
        with self._one_at_a_time:
            for identity, reader in boards:
                slot = roster.slot(identity.uuid, identity.max_w)
                roster.parents.update(dict.fromkeys(identity.instances, identity.uuid))
                roster.models[identity.uuid] = identity.name
                if self._readers.get(slot) is not reader:
                    self._readers[slot] = new[slot] = reader
            if new:
                self._builder.set_gpus(roster.uuids)
                self._way.open()
        return new

    def on_burst(self, slot: int, reads: list[CounterRead]) -> None:
        """Fast reads of one board's counter."""
        with self._one_at_a_time:
            pace = self._roster.desks[slot].energy.learn(reads)
        self._tell(Learned(self._roster.uuids[slot], pace))

    def on_row(self, row: Row) -> None:
        """Looks of one tick, or of one board alone."""
        with self._one_at_a_time:
            self._looks += len(row.fast)
            if row.slow:
                self._slow_looks += len(row.slow)
                for slot, slow in row.slow.items():
                    self._roster.desks[slot].slow(slow)
            if row.alone:
                self._pending.update(row.fast)
            else:
                self._put_off()
                self._on_tick(row.fast, row.read_ns)

    def close(self) -> None:
        """Frames go nowhere from here on."""
        with self._one_at_a_time:
            self._way.close()

    def _on_tick(self, looks: dict[int, FastReading], read_ns: int) -> None:
        if self._pending:
            looks, self._pending = self._pending | looks, {}
        cells = [desk.look(looks.get(slot), read_ns) for slot, desk in enumerate(self._roster.desks)]
        if not cells or (cells[0][1] and cells[0][3] and all(cell[1] and cell[3] for cell in cells)):
            self._notice_failure(read_ns)
        else:
            self._valid_ns, self._failing_ns = read_ns, None
        self._builder.add(read_ns, cells)
        if read_ns - self._last_frame_ns >= self._due_ns:
            self._last_frame_ns = read_ns
            self._say_frame(read_ns)

    def _say_frame(self, now_ns: int) -> None:
        slow = None
        if self._frames % self._slow_every == 0:
            self._sense()
            slow = [desk.slow_cells(now_ns) for desk in self._roster.desks]
        self._frames += 1
        try:
            body = self._builder.encode(time.time_ns(), slow, self._roster.rejected, self._host)
            self._unsent += not self._way.say(body)
        except EasyRiderError as fault:
            self._unsent += 1
            self._tell(BadFrame(fault))
        if slow is not None:
            self._each_second()

    def _notice_failure(self, now_ns: int) -> None:
        """No board answers for a second: NVML begins anew, more patiently each time."""
        if not self._roster.all_fail:
            return
        if self._failing_ns is None:
            self._failing_ns, self._anew_s = now_ns, _ANEW_AFTER_S
        if now_ns - self._failing_ns >= self._anew_s * _NS:
            self._failing_ns = now_ns
            self._anew_s = min(2 * self._anew_s, _ANEW_AT_MOST_S)
            self._sampler.rest()
            self._tell(NoBoardAnswers(self._roster.desks[0].code))

    def _sense(self) -> None:
        """What the following frames say of host and sensors."""
        self._host = self._host_reader.read()
        windows_s = [
            reader.abilities.window_s for reader in self._readers.values() if reader.abilities is not None
        ]
        paces = [desk.energy.pace for desk in self._roster.desks]
        self._builder.sense(
            max(windows_s, default=0.025),
            max((pace.period_s for pace in paces if pace is not None), default=0.1),
        )

    def _each_second(self) -> None:
        """Once a frame has left: the link's own words, states of boards, figures."""
        self._way.tend()
        self._note_states()
        if self._seconds % _MEASURE_EVERY_S == 0:
            self._measure()
        self._seconds += 1

    def _note_states(self) -> None:
        outstanding_s, apart = self._sampler.outstanding_s(time.monotonic_ns()), self._sampler.apart()
        for slot, desk in enumerate(self._roster.desks):
            state = "ok"
            if outstanding_s.get(slot, 0.0) > _HUNG_S:
                state = "hung"
            elif desk.code:
                state = f"fails with NVML code {desk.code}"
            elif desk.tally.is_stuck:
                state = "power sensor stuck"
            elif slot in apart:
                state = "slow"
            if self._states.get(slot, "ok") != state:
                self._tell(BoardState(self._roster.uuids[slot], state))
            self._states[slot] = state

    def _measure(self) -> None:
        _late.set(self._sampler.late_ticks)
        _looks.labels("fast").set(self._looks)
        _looks.labels("slow").set(self._slow_looks)
        if self._unsent:
            _dropped.labels("NodeFrame").inc(self._unsent)
            self._unsent = 0
        for state in ("ok", "hung", "slow"):
            _boards.labels(state).set(sum(known == state for known in self._states.values()))
        for uuid, desk in zip(self._roster.uuids, self._roster.desks, strict=True):
            for reason, count in desk.rejected.items():
                _rejected.labels(uuid, reason).set(count)
            _energy.labels(uuid, desk.energy.method).set(desk.energy.total_j)
            _apart.labels(uuid).set(desk.tally.agreement.apart)
