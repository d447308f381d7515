"""What telemetry does with rows from the threads, reports of the driver, jobs and phase marks."""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

from easyrider import log, metrics, subjects
from easyrider.bus_port import BusDown, BusPort
from easyrider.devices.board_readings import FastReading
from easyrider.devices.events import Xid
from easyrider.errors import EasyRiderError
from easyrider.messages import Message
from easyrider_telemetry.adapters.driver import Driver, Found, Report, Trouble
from easyrider_telemetry.adapters.host import HostReader
from easyrider_telemetry.adapters.jobs_file import BadJobsFile
from easyrider_telemetry.adapters.phase_socket import BadPhaseMark, PhaseSocket
from easyrider_telemetry.adapters.sampler import Row, Sampler
from easyrider_telemetry.config import Config
from easyrider_telemetry.core.fault_news import FaultNews
from easyrider_telemetry.core.frame import FrameBuilder, HostLoad
from easyrider_telemetry.core.job_watch import JobSource, JobWatch
from easyrider_telemetry.core.pace import CounterRead
from easyrider_telemetry.core.roster import Roster

_NS = 1_000_000_000
_HUNG_S = 3.0
_ANEW_AFTER_S = 1.0
_JOBS_EVERY_S = 0.5
_BOARDS_AWAITED_S = 10.0
_LOG_EVERY_S = 60.0
_GRACE_S = 0.005
_CHECK_AGAIN_S = 0.01
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
_dropped = metrics.counter("telemetry_unsent_total", "Messages that found no bus", ["what"])
_malformed = metrics.counter("telemetry_malformed_total", "Input that was refused", ["what"])
_jobs_age = metrics.gauge("telemetry_jobs_age_seconds", "Since the jobs file was last good; 0 while it is")
_looks = metrics.gauge("telemetry_looks", "Looks at boards since start", ["group"])
_late = metrics.gauge("telemetry_late_ticks", "Ticks of the sampling timer that were missed")


class Desk:
    """Lives in the event loop. Nothing waits for the bus: what cannot leave now is counted and dropped."""

    def __init__(self, config: Config, boot_id: str, bus: BusPort, sampler: Sampler, driver: Driver) -> None:
        self.roster = Roster(look_s=1 / config.sampling_hz)
        self._log = log.get("telemetry")
        self._config, self._bus, self._sampler, self._driver = config, bus, sampler, driver
        self._builder = FrameBuilder(config.region, config.node, boot_id)
        self._frame_subject = subjects.frame(config.region, config.node)
        self._frame_ns = round(config.frame_s * _NS)
        self._slow_every = max(1, round(1 / config.frame_s))
        self._host_reader, self._host = HostReader(), HostLoad()
        self._frames = 0
        self._last_frame_ns = 0
        self._valid_ns: int | None = None
        self._failing_ns: int | None = None
        self._anew_s = _ANEW_AFTER_S
        self._pending: dict[int, FastReading] = {}
        self._readers: dict[int, object] = {}
        self._states: dict[int, str] = {}
        self._overdue: asyncio.TimerHandle | None = None
        self._overdue_s = (sampler.period_ns + sampler.overrun_ns) / _NS + _GRACE_S
        self._loop = asyncio.get_running_loop()
        self._seconds = 0
        self._looks = self._slow_looks = 0
        self._began_s = self._jobs_good_s = time.monotonic()
        self._jobs_fault: str | None = None
        self._jobs_news = FaultNews()

    def age_s(self) -> float | None:
        """Since the newest look that gave a valid reading of any board; None before the first."""
        return None if self._valid_ns is None else (time.monotonic_ns() - self._valid_ns) / _NS

    def on_report(self, report: Report) -> None:
        """What the driver's thread says."""
        if isinstance(report, Trouble):
            log.bounded(self._log, f"trouble {report.fault.code}", _LOG_EVERY_S).error(
                "NVML does not work; this node is not measured and counts at device maximum",
                fault=str(report.fault),
                retry_s=report.retry_s,
            )
        elif isinstance(report, Xid):
            data = {"node": self._config.node, "gpu": report.uuid, "xid": report.code}
            self._log.warning("XID error", **data)
            source = f"telemetry/{self._config.node}"
            self._run("xid", self._bus.publish_event("xid", self._config.region, data, source=source))
        else:
            self._on_found(report)

    def _on_found(self, found: Found) -> None:
        readers = {}
        for identity, reader in found.boards:
            slot = self.roster.slot(identity.uuid, identity.max_w)
            self.roster.parents.update(dict.fromkeys(identity.instances, identity.uuid))
            if self._readers.get(slot) is not reader:
                self._readers[slot] = readers[slot] = reader
        if readers:
            self._log.info(
                "boards found", boards=len(found.boards), absent=found.absent, uuids=self.roster.uuids
            )
            self._builder.set_gpus(self.roster.uuids)
            self._sampler.put(readers)
            self._expect_row()
        elif not found.boards:
            log.bounded(self._log, "no boards", _LOG_EVERY_S).error("NVML lists no board that answers")

    def on_burst(self, slot: int, reads: list[CounterRead]) -> None:
        """Fast reads of one board's counter."""
        pace = self.roster.desks[slot].energy.learn(reads)
        self._log.info(
            "energy counter",
            gpu=self.roster.uuids[slot],
            pace=pace.kind if pace else "not learned yet",
            period_s=round(pace.period_s, 6) if pace else None,
        )

    def on_row(self, row: Row) -> None:
        """Looks of one tick, or of one board alone."""
        self._looks += len(row.fast)
        self._slow_looks += len(row.slow)
        for slot, slow in row.slow.items():
            self.roster.desks[slot].slow(slow)
        if row.alone:
            self._pending.update(row.fast)
            return
        self._expect_row()
        looks = row.fast
        if self._pending:
            looks = self._pending | looks
            self._pending = {}
        now_ns = time.monotonic_ns()
        read_ns = next(reversed(row.fast.values())).mono_ns if row.fast else now_ns
        cells = [desk.look(looks.get(slot), read_ns) for slot, desk in enumerate(self.roster.desks)]
        if not all(cell[1] and cell[3] for cell in cells):
            self._valid_ns = read_ns
            self._failing_ns = None
        else:
            self._notice_failure(now_ns)
        self._builder.add(read_ns, cells)
        if read_ns - self._last_frame_ns >= self._frame_ns - self._sampler.period_ns // 2:
            self._say_frame(read_ns)

    def _say_frame(self, now_ns: int) -> None:
        self._last_frame_ns = now_ns
        slow = None
        if self._frames % self._slow_every == 0:
            slow = [desk.slow_cells(now_ns) for desk in self.roster.desks]
            self._each_second()
        self._frames += 1
        frame = self._builder.build(time.time_ns(), slow, self.roster.rejected, self._host)
        self._say(self._frame_subject, frame)

    def _note_pace(self) -> None:
        abilities = [getattr(reader, "abilities", None) for reader in self._readers.values()]
        self._builder.window_s = max((a.window_s for a in abilities if a is not None), default=0.025)
        paces = [desk.energy.pace for desk in self.roster.desks]
        self._builder.refresh_s = max((pace.period_s for pace in paces if pace is not None), default=0.1)

    def _notice_failure(self, now_ns: int) -> None:
        """No board answers for a second: NVML begins anew, more patiently each time."""
        if not self.roster.all_fail:
            return
        if self._failing_ns is None:
            self._failing_ns, self._anew_s = now_ns, _ANEW_AFTER_S
        if now_ns - self._failing_ns >= self._anew_s * _NS:
            self._log.error("no board answers; NVML begins anew", code=self.roster.desks[0].code)
            self._failing_ns = now_ns
            self._anew_s = min(2 * self._anew_s, 10.0)
            self._sampler.rest()
            self._driver.begin_anew()

    def _expect_row(self) -> None:
        """A timer that goes off only if the next row is overdue: a healthy node pays no wake-up for it."""
        if self._overdue is not None:
            self._overdue.cancel()
        self._overdue = self._loop.call_later(self._overdue_s, self._on_overdue)

    def _on_overdue(self) -> None:
        slot = self._sampler.check(time.monotonic_ns())
        if slot is not None:
            self._log.debug("a board is slow and is read apart", gpu=self.roster.uuids[slot])
        self._overdue = self._loop.call_later(_CHECK_AGAIN_S, self._on_overdue)

    def _each_second(self) -> None:
        """The host's load, and states of boards, told when they change."""
        self._host = self._host_reader.read()
        self._note_pace()
        outstanding, apart = self._sampler.outstanding_s(time.monotonic_ns()), self._sampler.apart()
        for slot, desk in enumerate(self.roster.desks):
            state = "ok"
            if outstanding.get(slot, 0.0) > _HUNG_S:
                state = "hung"
            elif desk.code:
                state = f"fails with NVML code {desk.code}"
            elif desk.tally.is_stuck:
                state = "power sensor stuck"
            elif slot in apart:
                state = "slow"
            if self._states.get(slot, "ok") != state:
                say = self._log.info if state == "ok" else self._log.warning
                say("board state", gpu=self.roster.uuids[slot], state=state)
            self._states[slot] = state
        if self._seconds % _MEASURE_EVERY_S == 0:
            self._measure()
        self._seconds += 1

    def _measure(self) -> None:
        _late.set(self._sampler.late_ticks)
        _looks.labels("fast").set(self._looks)
        _looks.labels("slow").set(self._slow_looks)
        for state in ("ok", "hung", "slow"):
            _boards.labels(state).set(sum(known == state for known in self._states.values()))
        for uuid, desk in zip(self.roster.uuids, self.roster.desks, strict=True):
            for reason, count in desk.rejected.items():
                _rejected.labels(uuid, reason).set(count)
            _energy.labels(uuid, desk.energy.method).set(desk.energy.total_j)
            _apart.labels(uuid).set(desk.tally.agreement.apart)

    def _say(self, subject: str, message: Message) -> None:
        self._run(type(message).__name__, self._bus.publish(subject, message))

    def _run(self, what: str, saying: Coroutine[Any, Any, None]) -> None:
        """Runs to its end, at once, a coroutine that by its word never waits: a task costs more than the message."""
        try:
            saying.send(None)
        except StopIteration:
            return
        except BusDown:
            _dropped.labels(what).inc()
        except EasyRiderError as fault:
            _dropped.labels(what).inc()
            log.bounded(self._log, f"unsent {what}", _LOG_EVERY_S).error(
                "not sent", what=what, fault=str(fault)
            )
        else:  # it would wait after all: late is worse than lost
            saying.close()
            _dropped.labels(what).inc()

    def on_jobs(self, watch: JobWatch, source: JobSource) -> float:
        """Look at the source, tell what changed. Seconds until this should be called again."""
        if not self.roster.uuids and time.monotonic() - self._began_s < _BOARDS_AWAITED_S:
            return _JOBS_EVERY_S  # a partition told before its board is known would free the board of its job
        jobs = None
        try:
            jobs = source.now()
            if jobs is not None:
                self._jobs_good_s, self._jobs_fault = time.monotonic(), None
        except BadJobsFile as fault:
            self._jobs_fault = str(fault)
            _malformed.labels("jobs_file").inc()
        if self._jobs_news.due(self._jobs_fault, time.monotonic()):
            if self._jobs_fault is None:
                self._log.info("jobs file good again")
            else:
                self._log.warning("jobs file refused", fault=self._jobs_fault)
        for event in watch.update(jobs, time.time_ns(), time.monotonic_ns(), self.roster.physical):
            self._say(subjects.job(self._config.region, event.job), event)
        _jobs_age.set(time.monotonic() - self._jobs_good_s if self._jobs_fault else 0.0)
        return _JOBS_EVERY_S

    def on_phase(self, data: bytes, phases: PhaseSocket) -> None:
        """One datagram of a training program."""
        try:
            mark = phases.mark(data, time.time_ns(), time.monotonic_ns())
        except BadPhaseMark as fault:
            _malformed.labels("phase_mark").inc()
            log.bounded(self._log, "phase mark", _LOG_EVERY_S).warning("phase mark refused", fault=str(fault))
            return
        self._say(subjects.phase(self._config.region, self._config.node), mark)
