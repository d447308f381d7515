"""Polls one meter on its own schedule and says what it learned."""

import asyncio
import time
from typing import Any

from easyrider import log, metrics, subjects
from easyrider.bus_port import BusDown, BusPort
from easyrider_infra_bridge.adapters.modbus import MeterSilent, ModbusLink
from easyrider_infra_bridge.core.meter_desk import MeterDesk
from easyrider_infra_bridge.core.registers import blocks_of

_LOG_EVERY_S = 60.0
_SOURCE = "infra-bridge"
_polls = metrics.counter("bridge_polls_total", "Polls of meters by what came of them", ["meter", "outcome"])
_age = metrics.gauge("bridge_reading_age_seconds", "Since the last reading", ["meter"])
_unsent = metrics.counter("bridge_unsent_total", "Readings and events that found no bus", ["what"])


class MeterPoll:
    """One meter: at most one request under way, a deadline of its own, no other meter waits for it."""

    def __init__(self, desk: MeterDesk, link: ModbusLink, bus: BusPort, region: str) -> None:
        self.desk = desk
        self._link, self._bus, self._region = link, bus, region
        self._subject = subjects.meter(region, desk.spec.id)
        self._blocks = blocks_of(desk.spec.registers)
        self._read_s: float | None = None
        self._condition = "new"
        self._log = log.get("infra-bridge").bind(meter=desk.spec.id)

    def age_s(self) -> float | None:
        """Since the last reading; None before the first."""
        return None if self._read_s is None else time.monotonic() - self._read_s

    async def run(self, offset_s: float) -> None:
        """Polls for ever on an absolute schedule; a poll that took too long skips its successors."""
        poll_s = self.desk.spec.poll_s
        due_s = time.monotonic() + offset_s
        try:
            while True:
                await asyncio.sleep(max(0.0, due_s - time.monotonic()))
                await self.poll_once()
                due_s += poll_s * max(1, -(-(time.monotonic() - due_s) // poll_s))
        finally:
            self._link.close()

    async def poll_once(self) -> None:
        """Ask, judge, say. A meter that gives nothing is not told about: its last reading ages by itself."""
        try:
            words = await self._link.read(self._blocks)
        except MeterSilent as fault:
            _polls.labels(self.desk.spec.id, "silent").inc()
            log.bounded(self._log, f"silent {self.desk.spec.id}", _LOG_EVERY_S).warning(
                "silent", fault=fault.why
            )
            await self._tell_condition("silent", fault.why)
            return
        reading, events = self.desk.poll(words, time.time_ns(), time.monotonic_ns())
        if reading is None:
            _polls.labels(self.desk.spec.id, "refused").inc()
            await self._tell_condition("refused", "; ".join(self.desk.doubts))
            return
        self._read_s = time.monotonic()
        _polls.labels(self.desk.spec.id, reading.quality).inc()
        try:
            await self._bus.publish(self._subject, reading)
        except BusDown:
            _unsent.labels("reading").inc()
        for event in events:
            self._log.warning("facility event", **event.data)
            await self._tell("facility", event.data)
        await self._tell_condition(reading.quality, reading.suspect)

    def measure(self) -> None:
        """Metrics that change by themselves."""
        if (age_s := self.age_s()) is not None:
            _age.labels(self.desk.spec.id).set(age_s)

    async def _tell_condition(self, condition: str, why: str) -> None:
        """An event when a meter's condition changes, not at every poll."""
        if condition == self._condition:
            return
        before, self._condition = self._condition, condition
        say = self._log.info if condition == "good" else self._log.warning
        say("meter condition", condition=condition, before=before, why=why)
        spec = self.desk.spec
        await self._tell(
            "meter",
            {"meter": spec.id, "domain": spec.domain, "condition": condition, "before": before, "why": why},
        )

    async def _tell(self, kind: str, data: dict[str, Any]) -> None:
        try:
            await self._bus.publish_event(kind, self._region, data, source=_SOURCE)
        except BusDown:
            _unsent.labels("event").inc()
