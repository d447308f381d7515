"""What an infrastructure meter shows."""

from typing import Literal

from easyrider.messages.base import Count, Message, Name


class MeterReading(Message, tag="meter_reading", frozen=True):
    """One poll of one meter. A quantity it does not give, or gave nonsense for, is nil: never 0.

    `mono_ns` is the bridge's monotonic clock when the answer arrived, `boot_id` its boot.
    """

    region: Name
    meter: Name
    domain: Name
    boot_id: Name
    seq: Count
    t_ns: int
    mono_ns: Count
    period_s: float
    device: Literal["power_meter", "ups", "pdu", "cooling"]
    quality: Literal["good", "suspect", "bad"]
    gated: bool  # passed the onboarding gate: may justify a raise
    power_w: float | None = None
    current_a: float | None = None
    voltage_v: float | None = None
    frequency_hz: float | None = None
    load_pct: float | None = None
    temperature_c: float | None = None
    battery_pct: float | None = None
    modules_total: int | None = None
    modules_ok: int | None = None
    on_battery: bool | None = None
    phases_a: tuple[float, ...] = ()  # of each phase, where the meter tells them apart
    suspect: str = ""  # why the quality is not good
