"""What one look at a board gives: records without the binding, so that deciding needs no driver."""

from dataclasses import dataclass
from typing import Literal, NamedTuple


class FastReading(NamedTuple):
    """One look at a board. An `*_ok` other than `quality.VALID` means: do not read the value beside it."""

    mono_ns: int  # CLOCK_MONOTONIC after the driver answered
    power_w: float
    power_ok: int
    power_stamp_us: int  # Unix time of the driver; 0: it gives none
    energy_mj: int
    energy_ok: int
    energy_stamp_us: int
    limit_mw: int
    limit_ok: int
    code: int  # NVML's return code of the worst of the calls; 0: fine


class SlowReading(NamedTuple):
    """The readings that are taken once a second; `ok` is the worst of them."""

    mono_ns: int
    temperature_c: int
    util_pct: int
    sm_mhz: int
    mem_mhz: int
    reasons: int
    memory_mb: int
    ok: int
    code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """What a board gives, found by asking: per reading the way it is read, nil where it gives none."""

    power: Literal["instant", "usage"] | None
    energy: Literal["field", "call"] | None
    limit: Literal["field", "call"] | None
    window_s: float  # the power reading looks back this far
    missing: tuple[tuple[str, int], ...]  # reading and NVML's code why it is missing
