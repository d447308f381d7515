"""One board's memory: what may be believed of each look at it."""

from collections import Counter
from typing import NamedTuple

from easyrider import quality
from easyrider.devices.board_readings import FastReading, SlowReading
from easyrider_telemetry.core.agreement import Agreement
from easyrider_telemetry.core.energy import MAX_SHARE, EnergyMeter
from easyrider_telemetry.core.stuck import StuckWatch
from easyrider_telemetry.core.window import TenSeconds

UNKNOWN_MAX_W = 2000.0
"""Ceiling of plausibility for a board that tells no range."""
_SLOW_STALE_S = 3.0
_TEMPERATURES_C = range(-20, 151)
_CLOCKS_MHZ = range(10_000)
_OLDEST_MS = 65_535


class Cells(NamedTuple):
    """One row's cells of one board, as a frame carries them."""

    power_w: float
    power_ok: int
    mean_w: float
    mean_ok: int
    energy_mj: int
    energy_ok: int
    limit_mw: int
    limit_ok: int
    age_ms: int


class SlowCells(NamedTuple):
    """The slow columns of one board; `ok` covers all of them."""

    temperature_c: int
    util_pct: int
    sm_mhz: int
    mem_mhz: int
    reasons: int
    memory_mb: int
    mean10_w: float
    max10_w: float
    ok: int


class BoardDesk:
    """Checks the looks at one board against its range and against each other. Time comes with the readings."""

    def __init__(self, look_s: float, max_w: float | None) -> None:
        self.max_w = max_w or UNKNOWN_MAX_W
        self.energy = EnergyMeter(look_s=look_s, max_w=self.max_w)
        self.agreement = Agreement()
        self.rejected: Counter[str] = Counter()
        self.code = 0
        """NVML's code of the newest look; 0: fine."""
        self._stuck = StuckWatch()
        self._window = TenSeconds()
        self._slow: SlowReading | None = None
        self._power_key: tuple[float, int] = (-1.0, 0)
        self._changed_ns: int | None = None

    @property
    def power_stuck(self) -> bool:
        """The power field repeats itself against all evidence."""
        return self._stuck.stuck

    def look(self, reading: FastReading | None, now_ns: int) -> Cells:
        """The cells of one look; None for a board that was not read in time."""
        if reading is None:
            return Cells(
                0.0, quality.MISSING, 0.0, quality.MISSING, 0, quality.MISSING, 0, quality.MISSING, _OLDEST_MS
            )
        self.code = reading.code
        now_s = reading.mono_ns / 1e9
        power_ok = self._judge_power(reading)
        power_w = reading.power_w if power_ok == quality.VALID else None
        energy_mj = reading.energy_mj if reading.energy_ok == quality.VALID else None
        if reading.energy_ok == quality.BLANK:
            self.rejected["blank"] += 1
        mean = self.energy.look(reading.mono_ns, energy_mj, reading.energy_stamp_us, power_w)
        if mean.ok == quality.OUT_OF_RANGE:
            self.rejected["counter_step"] += 1
        mean_w = mean.power_w if mean.ok == quality.VALID else None
        if power_w is not None:
            power_ok = self._judge_story(now_s, power_w, mean_w)
        self._window.add(now_s, mean_w, power_w if power_ok == quality.VALID else None)
        limit_ok = self._judge_limit(reading)
        return Cells(
            power_w if power_w is not None and power_ok == quality.VALID else 0.0,
            power_ok,
            mean.power_w,
            mean.ok,
            reading.energy_mj if mean.energy_ok == quality.VALID and energy_mj is not None else 0,
            mean.energy_ok if energy_mj is not None else reading.energy_ok,
            reading.limit_mw if limit_ok == quality.VALID else 0,
            limit_ok,
            self._age_ms(reading, now_ns),
        )

    def slow(self, reading: SlowReading) -> None:
        """The newest slow look."""
        self._slow = reading
        if reading.ok == quality.BLANK:
            self.rejected["blank"] += 1
        elif reading.ok == quality.VALID and not _plausible(reading):
            self.rejected["out_of_range"] += 1

    def slow_cells(self, now_ns: int) -> SlowCells:
        """The slow columns as of now: missing where they are over 3 s old."""
        slow, ten = self._slow, self._window.read(now_ns / 1e9)
        mean10_w, max10_w = ten or (0.0, 0.0)
        ok = self._slow_ok(now_ns) if ten is not None else quality.MISSING
        if slow is None or ok != quality.VALID:
            return SlowCells(0, 0, 0, 0, 0, 0, mean10_w, max10_w, ok)
        return SlowCells(
            slow.temperature_c,
            slow.util_pct,
            slow.sm_mhz,
            slow.mem_mhz,
            slow.reasons,
            min(slow.memory_mb, 0xFFFFFFFF),
            mean10_w,
            max10_w,
            ok,
        )

    def _slow_ok(self, now_ns: int) -> int:
        slow = self._slow
        if slow is None or now_ns - slow.mono_ns > _SLOW_STALE_S * 1e9:
            return quality.MISSING
        if slow.ok == quality.VALID and not _plausible(slow):
            return quality.OUT_OF_RANGE
        return slow.ok

    def _judge_power(self, reading: FastReading) -> int:
        if reading.power_ok == quality.BLANK:
            self.rejected["blank"] += 1
        if reading.power_ok != quality.VALID:
            return reading.power_ok
        if not 0.0 <= reading.power_w <= MAX_SHARE * self.max_w:
            self.rejected["out_of_range"] += 1
            return quality.OUT_OF_RANGE
        return quality.VALID

    def _judge_story(self, now_s: float, power_w: float, mean_w: float | None) -> int:
        slow = self._slow
        temperature_c = slow.temperature_c if slow is not None and slow.ok == quality.VALID else None
        counted_w = mean_w if self.energy.method == "counter" else None
        if counted_w is not None:
            self.agreement.look(now_s, counted_w, power_w)
        if self._stuck.look(now_s, power_w, counted_w, temperature_c):
            return quality.STUCK
        return quality.VALID

    def _judge_limit(self, reading: FastReading) -> int:
        if reading.limit_ok == quality.BLANK:
            self.rejected["blank"] += 1
        if reading.limit_ok != quality.VALID:
            return reading.limit_ok
        if not 0 < reading.limit_mw <= MAX_SHARE * self.max_w * 1000:
            self.rejected["out_of_range"] += 1
            return quality.OUT_OF_RANGE
        return quality.VALID

    def _age_ms(self, reading: FastReading, now_ns: int) -> int:
        """Since the sensor showed something new: another value, or the same under a new stamp of its own."""
        pace = self.energy.pace
        stamp_us = reading.power_stamp_us if pace is not None and pace.kind == "stamped" else 0
        if (key := (reading.power_w, stamp_us)) != self._power_key:
            self._power_key, self._changed_ns = key, reading.mono_ns
        if self._changed_ns is None:
            return _OLDEST_MS
        return min(max(now_ns - self._changed_ns, 0) // 1_000_000, _OLDEST_MS)


def _plausible(reading: SlowReading) -> bool:
    return (
        reading.temperature_c in _TEMPERATURES_C
        and 0 <= reading.util_pct <= 100
        and reading.sm_mhz in _CLOCKS_MHZ
        and reading.mem_mhz in _CLOCKS_MHZ
    )
