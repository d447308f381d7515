"""Messages in, engine, forecasts out."""

import asyncio
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from easyrider import log, metrics, scopes, subjects, tree_reader
from easyrider.bus_port import Arrival, BusDown, BusPort
from easyrider.errors import BadTree, MalformedMessage
from easyrider.messages import (
    JobEvent,
    LimitAck,
    MeterReading,
    NodeFrame,
    PhaseMark,
    Plan,
    PowerForecast,
    SeriesForecast,
)
from easyrider.store_port import StorePort, StoreRefused, StoreSilent
from easyrider_forecaster.adapters import clocks, compiling
from easyrider_forecaster.adapters.fit_pool import FitPool
from easyrider_forecaster.core.engine import Engine

_SERIES_A_MESSAGE = 400
"""About 1.3 kB a series, and a message may hold 900 KiB."""
_RULES_AGAIN_S = 5.0
_LEAVE_S = 0.1
"""Time before a second closes in which no rhythm is judged any more."""

_said = metrics.counter("forecast_series_total", "Series forecast and published")
_malformed = metrics.counter("forecaster_frames_malformed_total", "Frames whose columns did not fit")
_rejected = metrics.gauge("forecaster_samples_rejected", "Samples outside the device's range since start")
_unknown = metrics.gauge("forecaster_frames_of_unknown_gpus", "Frames before their list of GPUs, since start")
_late = metrics.gauge(
    "forecaster_samples_late", "Samples that came after their second was closed, since start"
)
_faulty = {
    "duplicate_frames": metrics.gauge("forecaster_frames_duplicate", "Frames said twice, since start"),
    "late_frames": metrics.gauge(
        "forecaster_frames_late", "Frames that newer ones had overtaken, since start"
    ),
    "stuck_samples": metrics.gauge(
        "forecaster_samples_stuck", "Samples of sensors that stood still while boards warmed, since start"
    ),
}
_refused = metrics.gauge("forecaster_fits_refused", "Fits without stable parameters since start")
_tick_s = metrics.histogram("forecaster_tick_seconds", "Time of one forecast of everything")


class Desk:
    """Keeps an engine fed and lets it speak."""

    def __init__(self, *, bus: BusPort, engine: Engine, region: str, tree: str, pool: FitPool | None) -> None:
        self._bus, self._engine, self._region, self._tree, self._pool = bus, engine, region, tree, pool
        self._log = log.get("forecaster")
        self._boot_id, self._seq = clocks.boot_id(), 0
        self._heard_ns: int | None = None
        self._plan_version = 0
        self._rules_version = 0
        self.stale_rules = asyncio.Event()

    async def subscribe(self) -> None:
        """Everything this service listens to."""
        region = self._region
        await self._bus.subscribe(subjects.frames_in(region), (NodeFrame,), self.on_frame)
        await self._bus.subscribe(subjects.jobs_in(region), (JobEvent,), self.on_job)
        await self._bus.subscribe(subjects.phases_in(region), (PhaseMark,), self.on_mark)
        await self._bus.subscribe(subjects.acks_in(region), (LimitAck,), self.on_ack)
        await self._bus.subscribe(subjects.meters_in(region), (MeterReading,), self.on_meter)
        await self._bus.subscribe(subjects.plan(region), (Plan,), self.on_plan)

    def on_frame(self, frame: NodeFrame, arrival: Arrival) -> None:
        """Samples of a node."""
        try:
            self._engine.intake.take_frame(frame, arrival.mono_ns / 1e9)
        except MalformedMessage as fault:
            _malformed.inc()
            log.bounded(self._log, f"frame {fault.reason}", 10.0).warning("frame dropped", why=str(fault))
            return
        self._heard_ns = arrival.mono_ns

    def on_job(self, event: JobEvent, arrival: Arrival) -> None:
        """A job somewhere."""
        self._engine.intake.take_job(event, arrival.mono_ns / 1e9)

    def on_mark(self, mark: PhaseMark, arrival: Arrival) -> None:
        """A phase of a job."""
        self._engine.intake.take_mark(mark, arrival.mono_ns / 1e9)

    def on_ack(self, ack: LimitAck, _arrival: Arrival) -> None:
        """Limits as read back."""
        self._engine.intake.take_ack(ack)

    def on_meter(self, reading: MeterReading, arrival: Arrival) -> None:
        """Wall power of a domain."""
        self._engine.intake.take_meter(reading, arrival.mono_ns / 1e9)

    def on_plan(self, plan: Plan, _arrival: Arrival) -> None:
        """Which rules the coordinator follows: other ones than ours are fetched."""
        self._plan_version = plan.tree_version
        if plan.tree == self._tree and plan.tree_version != self._rules_version:
            self.stale_rules.set()

    def silence_s(self) -> float | None:
        """Since the last frame; None before the first."""
        return None if self._heard_ns is None else (clocks.mono_ns() - self._heard_ns) / 1e9

    def read_rules(self, path: Path) -> None:
        """Rules from a file. Raises `BadTree`, or `OSError` where it cannot be read."""
        self._use(path.read_text(encoding="utf-8"), str(path))

    async def follow_rules(self, store: StorePort) -> None:
        """For ever: fetch rules while there are none, and when a plan names another version."""
        while True:
            try:
                kept = await store.load_rules(self._tree)
                if kept is not None and self._wanted(kept[0]):
                    self._use(kept[1].decode("utf-8"), "store")
            except (StoreSilent, StoreRefused, BadTree, UnicodeDecodeError) as fault:
                log.bounded(self._log, "rules", 60.0).warning("no rules from the store", why=str(fault))
            self.stale_rules.clear()
            if self._rules_version:
                await self.stale_rules.wait()
            await asyncio.sleep(_RULES_AGAIN_S if not self._rules_version else 0.5)

    async def speak(self, period_s: float) -> None:
        """For ever: close the seconds that are complete and say what follows."""
        next_s = clocks.mono_ns() / 1e9
        while True:
            with _tick_s.time():
                if self._engine.advance(clocks.mono_ns() / 1e9):
                    await self._publish(self._engine.forecast())
            self._count()
            await self._think(next_s + period_s - _LEAVE_S)
            next_s = max(next_s + period_s, clocks.mono_ns() / 1e9)
            await asyncio.sleep(next_s - clocks.mono_ns() / 1e9)

    async def compile(self, least_rows: int, every_s: float = 5.0) -> None:
        """Wait until there are so many series, then have the dear steps compiled in a thread, and use them."""
        while True:
            await asyncio.sleep(every_s)
            if self._engine.outlook.history.rows >= least_rows:
                break
        try:
            self._engine.outlook.kernels = await asyncio.to_thread(compiling.ready)
        except ImportError as fault:
            self._log.warning("steps stay as they are: no compiler", why=str(fault), series=least_rows)
            return
        self._log.info("steps compiled", series=self._engine.outlook.history.rows)

    async def fit(self, every_s: float = 5.0) -> None:
        """For ever: have level parameters fitted elsewhere."""
        assert self._pool is not None
        while True:
            await asyncio.sleep(every_s)
            requests = self._engine.due_fits()
            if requests:
                try:
                    self._engine.take_fits(await self._pool.fit(requests))
                except BrokenProcessPool as fault:
                    self._log.warning("the fit process died; parameters stay as they are", why=str(fault))

    async def _think(self, until_s: float) -> None:
        while clocks.mono_ns() / 1e9 < until_s:
            if not self._engine.think():
                return
            await asyncio.sleep(0)

    async def _publish(self, series: tuple[SeriesForecast, ...]) -> None:
        for first in range(0, len(series), _SERIES_A_MESSAGE):
            self._seq += 1
            said = series[first : first + _SERIES_A_MESSAGE]
            message = PowerForecast(
                region=self._region,
                boot_id=self._boot_id,
                seq=self._seq,
                t_ns=clocks.unix_ns(),
                mono_ns=clocks.mono_ns(),
                series=said,
            )
            try:
                await self._bus.publish(subjects.forecast(self._region), message)
                _said.inc(len(said))
            except BusDown as fault:
                log.bounded(self._log, "bus down", 10.0).warning("forecast not said", why=str(fault))

    def _wanted(self, version: int) -> bool:
        """Newer than ours, or the very version the coordinator follows."""
        return version > self._rules_version or version == self._plan_version != self._rules_version

    def _use(self, text: str, source: str) -> None:
        rules = scopes.part_of(tree_reader.read(text, source), self._region)
        self._engine.take_rules(rules)
        self._rules_version = rules.version
        self._log.info("rules in use", source=source, version=rules.version, domains=len(rules.domains))

    def _count(self) -> None:
        intake = self._engine.intake
        _rejected.set(intake.boards.rejected)
        _late.set(intake.boards.late)
        _unknown.set(intake.dropped["unknown_gpus"])
        for what, gauge in _faulty.items():
            gauge.set(intake.dropped[what])
        _refused.set(self._engine.fits.refused)
