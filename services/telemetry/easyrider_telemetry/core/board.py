"""One board's memory: what may be believed of each look at it."""

from collections import Counter
from typing import NamedTuple

from easyrider import quality
from easyrider.devices.board_readings import FastReading, SlowReading
from easyrider_telemetry.core.energy import MAX_SHARE, EnergyMeter
from easyrider_telemetry.core.tally import Tally

UNKNOWN_MAX_W = 2000.0
"""Ceiling of plausibility for a board that tells no range."""
_SLOW_STALE_S = 3.0
_TEMPERATURES_C = range(-20, 151)
_CLOCKS_MHZ = range(10_000)
_OLDEST_MS = 65_535


Cells = tuple[float, int, float, int, int, int, int, int, int]
"""One row's cells of one board: power_w, power_ok, mean_w, mean_ok, energy_mj, energy_ok, limit_mw, limit_ok, age_ms.

A plain tuple: eighty of them are made a second.
"""
CELLS = 9


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


_MISSING = quality.MISSING
_NOT_READ: Cells = (0.0, _MISSING, 0.0, _MISSING, 0, _MISSING, 0, _MISSING, _OLDEST_MS)
_REFUSED = {quality.BLANK: "blank", quality.OUT_OF_RANGE: "out_of_range"}


class BoardDesk:
    """Checks the looks at one board against its range and against each other. Time comes with the readings."""

    def __init__(self, look_s: float, max_w: float | None) -> None:
        self.max_w = max_w or UNKNOWN_MAX_W
        self.energy = EnergyMeter(look_s=look_s, max_w=self.max_w)
        self.tally = Tally()
        self.rejected: Counter[str] = Counter()
        """Readings refused since start, by reason; `rejections` of any."""
        self.rejections = 0
        self.code = 0
        """NVML's code of the newest look; 0: fine."""
        self._slow: SlowReading | None = None
        self._power_key = -1.0
        self._changed_ns = 0
        self._answers = True
        self._ceiling_w = MAX_SHARE * self.max_w
        self._ceiling_mw = round(self._ceiling_w * 1000)

    @property
    def silent(self) -> bool:
        """The newest look failed as a whole."""
        return self.code != 0 and not self._answers

    def look(self, reading: FastReading | None, now_ns: int) -> Cells:
        """The cells of one look; None for a board that was not read in time."""
        if reading is None:
            return _NOT_READ
        (
            mono_ns, power_w, power_ok, power_stamp_us, energy_mj, energy_ok, energy_stamp_us, limit_mw, limit_ok,
            code,
        ) = reading  # fmt: skip
        if (
            code or power_ok or energy_ok or limit_ok
            or not 0.0 <= power_w <= self._ceiling_w or not 0 < limit_mw <= self._ceiling_mw
        ):  # fmt: skip
            return self._look_closely(reading, now_ns)
        mean_w = self.energy.usual(mono_ns, energy_mj, energy_stamp_us, power_w)
        if mean_w is None:
            return self._look_closely(reading, now_ns)
        # what nearly every look at nearly every board is
        self.code, self._answers = 0, True
        if self.tally.add(mono_ns, mean_w, power_w, True):
            power_w, power_ok = 0.0, quality.STUCK
        if power_stamp_us != self._power_key:
            self._power_key, self._changed_ns = power_stamp_us, mono_ns
        age_ms = (now_ns - self._changed_ns) // 1_000_000
        if not 0 <= age_ms <= _OLDEST_MS:
            age_ms = 0 if age_ms < 0 else _OLDEST_MS
        return power_w, power_ok, mean_w, 0, energy_mj, 0, limit_mw, 0, age_ms

    def _look_closely(self, reading: FastReading, now_ns: int) -> Cells:
        """The same for any look: step by step, each reading judged by itself."""
        mono_ns, power_w, _, power_stamp_us, energy_mj, _, energy_stamp_us, limit_mw, _, self.code = reading
        power_ok, energy_ok, limit_ok = self._judge(reading)
        self._answers = not (power_ok and energy_ok)
        energy = self.energy
        mean_w, mean_ok, counter_ok = energy.look(
            mono_ns, None if energy_ok else energy_mj, energy_stamp_us, None if power_ok else power_w
        )
        if mean_ok == quality.OUT_OF_RANGE:
            self._reject("counter_step")
        is_stuck = self.tally.add(
            mono_ns, None if mean_ok else mean_w, None if power_ok else power_w, energy.method == "counter"
        )
        if is_stuck and not power_ok:
            power_ok = quality.STUCK
        if energy_ok or counter_ok:
            energy_mj, energy_ok = 0, energy_ok or counter_ok
        key = power_stamp_us if energy.is_stamped else power_w  # what says that the sensor looked anew
        if key != self._power_key:
            self._power_key, self._changed_ns = key, mono_ns
        return (
            0.0 if power_ok else power_w,
            power_ok,
            mean_w,
            mean_ok,
            energy_mj,
            energy_ok,
            0 if limit_ok else limit_mw,
            limit_ok,
            min(max((now_ns - self._changed_ns) // 1_000_000, 0), _OLDEST_MS),
        )

    def slow(self, reading: SlowReading) -> None:
        """The newest slow look."""
        self._slow = reading
        self.tally.temperature_c = None if reading.ok else reading.temperature_c
        if reading.ok == quality.BLANK:
            self._reject("blank")
        elif reading.ok == quality.VALID and not _plausible(reading):
            self._reject("out_of_range")

    def slow_cells(self, now_ns: int) -> SlowCells:
        """The slow columns as of now: missing where they are over 3 s old."""
        slow, ten = self._slow, self.tally.ten_seconds(now_ns)
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

    def _reject(self, reason: str) -> None:
        self.rejected[reason] += 1
        self.rejections += 1

    def _judge(self, reading: FastReading) -> tuple[int, int, int]:
        """How power, energy and limit are to be taken; counts what is refused."""
        power_ok, limit_ok = reading.power_ok, reading.limit_ok
        if power_ok == quality.VALID and not 0.0 <= reading.power_w <= self._ceiling_w:
            power_ok = quality.OUT_OF_RANGE
        if limit_ok == quality.VALID and not 0 < reading.limit_mw <= self._ceiling_mw:
            limit_ok = quality.OUT_OF_RANGE
        for ok in (power_ok, reading.energy_ok, limit_ok):
            if ok in _REFUSED:
                self._reject(_REFUSED[ok])
        return power_ok, reading.energy_ok, limit_ok


def _plausible(reading: SlowReading) -> bool:
    return (
        reading.temperature_c in _TEMPERATURES_C
        and 0 <= reading.util_pct <= 100
        and reading.sm_mhz in _CLOCKS_MHZ
        and reading.mem_mhz in _CLOCKS_MHZ
    )
