"""What is known of a meter beforehand: where it answers, and what its registers mean."""

from dataclasses import dataclass
from typing import Literal

Quantity = Literal[
    "power_w",
    "current_a",
    "phase_1_a",
    "phase_2_a",
    "phase_3_a",
    "voltage_v",
    "frequency_hz",
    "load_pct",
    "temperature_c",
    "modules_total",
    "modules_ok",
    "on_battery",
    "battery_pct",
]
PHASES: tuple[Quantity, ...] = ("phase_1_a", "phase_2_a", "phase_3_a")
_WORDS = {"float32": 2, "uint32": 2, "uint16": 1, "int16": 1}
_FASTEST_UPS_S = 1.0
"""A UPS is asked at least so often: its state has to be known within 2 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Register:
    """One quantity: `value = raw x scale`. Word order is a register's own: devices mix them."""

    quantity: Quantity
    address: int
    type: Literal["float32", "uint16", "int16", "uint32"]
    word_order: Literal["big", "little"] = "big"
    scale: float = 1.0

    @property
    def words(self) -> int:
        """Registers of 16 bits that it takes."""
        return _WORDS[self.type]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterSpec:
    """One meter. `rating_w`, `rating_a`: what it can carry; readings above are refused."""

    id: str
    domain: str
    kind: Literal["power_meter", "ups"]
    host: str
    port: int
    registers: tuple[Register, ...]
    device_id: int = 1
    period_s: float = 1.0
    rating_w: float | None = None
    rating_a: float | None = None

    @property
    def poll_s(self) -> float:
        """Time between polls."""
        return min(self.period_s, _FASTEST_UPS_S) if self.kind == "ups" else self.period_s


def faults_of(specs: tuple[MeterSpec, ...]) -> list[str]:
    """What no meter may be, named one by one."""
    faults: list[str] = []
    for number, spec in enumerate(specs):
        if any(other.id == spec.id for other in specs[:number]):
            faults.append(f"meter {spec.id} stands twice")
        faults += [f"meter {spec.id}: {fault}" for fault in _faults_of_one(spec)]
    return faults


def _faults_of_one(spec: MeterSpec) -> list[str]:
    faults: list[str] = []
    if not 0 < spec.port < 65536:
        faults.append(f"port {spec.port} is none")
    if not 0 <= spec.device_id <= 255:
        faults.append(f"device_id {spec.device_id} is outside 0..255")
    if not 0.1 <= spec.period_s <= 3600:
        faults.append(f"period_s {spec.period_s:g} is outside 0.1..3600")
    if not spec.registers:
        faults.append("has no registers")
    for name, rating in (("rating_w", spec.rating_w), ("rating_a", spec.rating_a)):
        if rating is not None and rating <= 0:
            faults.append(f"{name} {rating:g} is not above 0")
    quantities = [register.quantity for register in spec.registers]
    faults += [f"{q} is mapped twice" for q in sorted({q for q in quantities if quantities.count(q) > 1})]
    for register in spec.registers:
        if not 0 <= register.address <= 65536 - register.words:
            faults.append(f"{register.quantity}: address {register.address} is outside 0..65535")
        if register.scale == 0:
            faults.append(f"{register.quantity}: scale 0 makes every value 0")
    return faults
