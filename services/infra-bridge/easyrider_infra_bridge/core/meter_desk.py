"""One meter's memory: its gate, whether it froze, and what its state changed to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from easyrider.messages import MeterReading
from easyrider_infra_bridge.core.meter_spec import PHASES, MeterSpec
from easyrider_infra_bridge.core.plausibility import Judged, judge
from easyrider_infra_bridge.core.registers import value_of

FROZEN_NS = 300_000_000_000
"""Bit-identical analogue words for so long mean that a gateway repeats what it knew last."""
_ANALOGUE = {"power_w", "current_a", *PHASES, "voltage_v", "frequency_hz", "load_pct", "temperature_c"}


class FacilityEvent(NamedTuple):
    """A UPS changed its state."""

    what: Literal["module_lost", "module_back", "on_battery", "on_mains"]
    data: dict[str, str | int | float | bool | None]


class Outcome(NamedTuple):
    """What one poll led to; no reading where nothing of it may be believed."""

    reading: MeterReading | None
    events: list[FacilityEvent]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Who says it."""

    region: str
    boot_id: str


class MeterDesk:
    """Turns the polls of one meter into readings. A poll that failed is not told: the last reading ages."""

    def __init__(self, spec: MeterSpec, place: Place, gate_polls: int) -> None:
        self.spec = spec
        self.gated = False
        self.doubts: tuple[str, ...] = ()
        self._place, self._gate_polls = place, gate_polls
        self._good_polls = 0
        self._seq = 0
        self._analogue: tuple[int, ...] | None = None
        self._analogue_ns = 0
        self._modules_ok: int | None = None
        self._on_battery: bool | None = None

    def poll(self, words: Mapping[int, int], t_ns: int, mono_ns: int) -> Outcome:
        """What the words of one poll mean. `words` holds every address of the map."""
        values: dict[str, float | None] = {
            register.quantity: value_of(register, words) for register in self.spec.registers
        }
        judged = judge(self.spec, values, words)
        doubts = judged.doubts + self._frozen_doubt(words, mono_ns)
        self.doubts = doubts
        self._move_gate(judged, is_good=not doubts)
        if not judged.values:
            return Outcome(None, [])
        self._seq += 1
        quality: Literal["good", "suspect", "bad"] = (
            "bad" if judged.is_bad else "suspect" if doubts else "good"
        )
        return Outcome(self._reading(judged, quality, t_ns, mono_ns), self._changes(judged.values))

    def _move_gate(self, judged: Judged, *, is_good: bool) -> None:
        """Plausible so many times in a row opens it; a doubtful scale shuts it again."""
        self._good_polls = self._good_polls + 1 if is_good and judged.values else 0
        if judged.is_bad:
            self.gated = False
        elif self._good_polls >= self._gate_polls:
            self.gated = True

    def _frozen_doubt(self, words: Mapping[int, int], mono_ns: int) -> tuple[str, ...]:
        analogue = tuple(
            words[register.address + k]
            for register in self.spec.registers
            if register.quantity in _ANALOGUE
            for k in range(register.words)
        )
        if analogue != self._analogue:
            self._analogue, self._analogue_ns = analogue, mono_ns
        if analogue and any(analogue) and mono_ns - self._analogue_ns >= FROZEN_NS:
            return (f"frozen: the same bits for {(mono_ns - self._analogue_ns) / 1e9:.0f} s",)
        return ()

    def _reading(
        self, judged: Judged, quality: Literal["good", "suspect", "bad"], t_ns: int, mono_ns: int
    ) -> MeterReading:
        values = judged.values
        on_battery = values.get("on_battery")
        return MeterReading(
            region=self._place.region,
            meter=self.spec.id,
            domain=self.spec.domain,
            boot_id=self._place.boot_id,
            seq=self._seq,
            t_ns=t_ns,
            mono_ns=mono_ns,
            period_s=self.spec.poll_s,
            device=self.spec.kind,
            quality=quality,
            gated=self.gated,
            power_w=values.get("power_w"),
            current_a=values.get("current_a"),
            voltage_v=values.get("voltage_v"),
            frequency_hz=values.get("frequency_hz"),
            load_pct=values.get("load_pct"),
            temperature_c=values.get("temperature_c"),
            battery_pct=values.get("battery_pct"),
            modules_total=_whole(values.get("modules_total")),
            modules_ok=_whole(values.get("modules_ok")),
            on_battery=None if on_battery is None else on_battery != 0,
            phases_a=self._phases_a(values),
            suspect="; ".join(self.doubts)[:1000],
        )

    def _phases_a(self, values: Mapping[str, float]) -> tuple[float, ...]:
        """Amps of the phases that the map has; none where one of them is not to be believed: it may be the fullest."""
        mapped = [q for q in PHASES if any(register.quantity == q for register in self.spec.registers)]
        return tuple(values[q] for q in mapped) if all(q in values for q in mapped) else ()

    def _changes(self, values: Mapping[str, float]) -> list[FacilityEvent]:
        """State changes. The first poll tells only what is amiss; an unknown state changes nothing."""
        events: list[FacilityEvent] = []
        working, total = _whole(values.get("modules_ok")), _whole(values.get("modules_total"))
        if working is not None:
            before = self._modules_ok if self._modules_ok is not None else total
            if before is not None and working != before:
                what: Literal["module_lost", "module_back"] = (
                    "module_lost" if working < before else "module_back"
                )
                events.append(
                    self._event(what, modules_ok=working, modules_total=total, modules_before=before)
                )
            self._modules_ok = working
        battery = values.get("on_battery")
        if battery is not None:
            now = battery != 0
            if now != bool(self._on_battery):
                events.append(
                    self._event("on_battery" if now else "on_mains", battery_pct=values.get("battery_pct"))
                )
            self._on_battery = now
        return events

    def _event(
        self, what: Literal["module_lost", "module_back", "on_battery", "on_mains"], **data: float | None
    ) -> FacilityEvent:
        return FacilityEvent(what, {"what": what, "meter": self.spec.id, "domain": self.spec.domain, **data})


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
