"""What telemetry does in its event loop, with news from threads, jobs and phase marks: nothing of it every tick."""

import time
from collections.abc import Coroutine
from typing import Any

from easyrider import log, metrics, subjects, wire
from easyrider.bus_port import BusDown, BusPort
from easyrider.devices.events import Xid
from easyrider.errors import EasyRiderError
from easyrider.messages import Message, NodeFrame
from easyrider.speaking_link import LinkNews
from easyrider_telemetry.adapters.driver import Driver, Found, Report, Trouble
from easyrider_telemetry.adapters.jobs_file import BadJobsFile
from easyrider_telemetry.adapters.overdue import OverdueTimer
from easyrider_telemetry.adapters.phase_socket import BadPhaseMark, PhaseSocket
from easyrider_telemetry.adapters.sampler import Sampler
from easyrider_telemetry.config import Config
from easyrider_telemetry.core.fault_news import FaultNews
from easyrider_telemetry.core.job_doubts import doubts, summary
from easyrider_telemetry.core.job_watch import Job, JobSource, JobWatch
from easyrider_telemetry.core.roster import Roster
from easyrider_telemetry.rows import BadFrame, BoardState, Learned, NoBoardAnswers, RowDesk, RowNews

_JOBS_EVERY_S = 0.5
_BOARDS_AWAITED_S = 10.0
_LOG_EVERY_S = 60.0

_dropped = metrics.counter("telemetry_unsent_total", "Messages that found no bus", ["what"])
_malformed = metrics.counter("telemetry_malformed_total", "Input that was refused", ["what"])
_doubtful = metrics.gauge(
    "telemetry_jobs_doubtful", "Faults in the list of jobs that were taken as they stand"
)
_jobs_age = metrics.gauge("telemetry_jobs_age_seconds", "Since the jobs file was last good; 0 while it is")


class Desk:
    """Lives in the event loop. Nothing waits for the bus: what cannot leave now is counted and dropped."""

    def __init__(
        self,
        config: Config,
        bus: BusPort,
        sampler: Sampler,
        driver: Driver,
        rows: RowDesk,
        roster: Roster,
        overdue: OverdueTimer,
    ) -> None:
        self._log, self._link_log = log.get("telemetry"), log.get("easyrider.bus")
        self._config, self._bus, self._sampler, self._driver = config, bus, sampler, driver
        self._rows, self._roster, self._overdue = rows, roster, overdue
        self._began_s = self._jobs_good_s = time.monotonic()
        self._jobs_fault: str | None = None
        self._jobs_news = FaultNews()
        self._doubts: str | None = None
        self._doubts_news = FaultNews()

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
        readers = self._rows.found(found.boards)
        if readers:
            uuids = self._roster.uuids
            self._log.info("boards found", boards=len(found.boards), absent=found.absent, uuids=uuids)
            self._sampler.put(readers)
            self._overdue.put_off()
        elif not found.boards:
            log.bounded(self._log, "no boards", _LOG_EVERY_S).error("NVML lists no board that answers")

    def on_overdue(self) -> None:
        """The row of a tick did not come: a board holds it up, or soon will have."""
        self._overdue.went_off()
        slot = self._sampler.check(time.monotonic_ns())
        if slot is not None:
            self._log.debug("a board is slow and is read apart", gpu=self._roster.uuids[slot])

    def on_rows(self, news: RowNews) -> None:
        """What the threads that read the boards have to tell."""
        match news:
            case Learned(uuid, pace):
                self._log.info(
                    "energy counter",
                    gpu=uuid,
                    pace=pace.kind if pace else "not learned yet",
                    period_s=round(pace.period_s, 6) if pace else None,
                )
            case BoardState(uuid, state):
                say = self._log.info if state == "ok" else self._log.warning
                say("board state", gpu=uuid, state=state)
            case NoBoardAnswers(code):
                self._log.error("no board answers; NVML begins anew", code=code)
                self._driver.begin_anew()
            case BadFrame(fault):
                log.bounded(self._log, "unsent NodeFrame", _LOG_EVERY_S).error(
                    "not sent", what="NodeFrame", fault=str(fault)
                )

    def on_link(self, news: LinkNews) -> None:
        """What became of the link that frames leave on."""
        name = f"telemetry.{self._config.node}.frames"
        match news.what:
            case "up":
                self._link_log.info("connected", connection=name)
            case "lost":
                self._link_log.warning(
                    "connection lost; trying again for ever", connection=name, why=news.why
                )
            case "waits":
                log.bounded(self._link_log, "frames wait", _LOG_EVERY_S).warning(
                    "no bus for frames yet; trying for ever", connection=name, why=news.why
                )
            case "forbidden":
                log.bounded(self._link_log, f"frames {news.why}", 10.0).error(
                    "the server forbids it", connection=name, why=news.why
                )

    def on_frame(self, body: bytes) -> None:
        """A frame that has no link of its own."""
        self._say(subjects.frame(self._config.region, self._config.node), wire.decode(body, (NodeFrame,)))

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
        if not self._roster.uuids and time.monotonic() - self._began_s < _BOARDS_AWAITED_S:
            return _JOBS_EVERY_S  # a partition told before its board is known would free the board of its job
        jobs = None
        try:
            jobs = source.now()
            if jobs is not None:
                self._jobs_good_s, self._jobs_fault = time.monotonic(), None
                self._doubt(jobs)
        except BadJobsFile as fault:
            self._jobs_fault = str(fault)
            _malformed.labels("jobs_file").inc()
        if self._jobs_news.due(self._jobs_fault, time.monotonic()):
            if self._jobs_fault is None:
                self._log.info("jobs file good again")
            else:
                self._log.warning("jobs file refused", fault=self._jobs_fault)
        if self._doubts_news.due(self._doubts, time.monotonic()) and self._doubts is not None:
            self._log.warning("jobs that cannot be meant so, taken as they stand", what=self._doubts)
        roster = self._roster
        for event in watch.update(jobs, time.time_ns(), time.monotonic_ns(), roster.physical, roster.model):
            self._say(subjects.job(self._config.region, event.job), event)
        _jobs_age.set(time.monotonic() - self._jobs_good_s if self._jobs_fault else 0.0)
        return _JOBS_EVERY_S

    def _doubt(self, jobs: list[Job]) -> None:
        found = doubts(jobs, {*self._roster.uuids, *self._roster.parents})
        _doubtful.set(len(found))
        self._doubts = summary(found)

    def on_phase(self, data: bytes, phases: PhaseSocket) -> None:
        """One datagram of a training program."""
        try:
            mark = phases.mark(data, time.time_ns(), time.monotonic_ns())
        except BadPhaseMark as fault:
            _malformed.labels("phase_mark").inc()
            log.bounded(self._log, "phase mark", _LOG_EVERY_S).warning("phase mark refused", fault=str(fault))
            return
        self._say(subjects.phase(self._config.region, self._config.node), mark)
