"""A board without a driver: it answers as it is told to, or hangs until it is let go."""

import threading
import time

from easyrider import quality
from easyrider.devices.board_readings import FastReading, SlowReading


def fast(mono_ns: int, power_w: float = 300.0, energy_mj: int = 0, **other: int) -> FastReading:
    """A reading that is valid unless `other` says otherwise."""
    cells = {
        "mono_ns": mono_ns, "power_w": power_w, "power_ok": 0, "power_stamp_us": 0, "energy_mj": energy_mj,
        "energy_ok": 0, "energy_stamp_us": 0, "limit_mw": 400_000, "limit_ok": 0, "code": 0,
    }  # fmt: skip
    return FastReading(**(cells | other))


def slow(mono_ns: int, **other: int) -> SlowReading:
    """A slow reading that is valid unless `other` says otherwise."""
    cells = {
        "mono_ns": mono_ns, "temperature_c": 40, "util_pct": 50, "sm_mhz": 1500, "mem_mhz": 2619, "reasons": 0,
        "memory_mb": 1000, "ok": 0, "code": 0,
    }  # fmt: skip
    return SlowReading(**(cells | other))


def failed(mono_ns: int, code: int) -> FastReading:
    """What a board that answers nothing gives."""
    missing = quality.MISSING
    return fast(mono_ns, 0.0, 0, power_ok=missing, energy_ok=missing, limit_ok=missing, limit_mw=0, code=code)


class FakeBoard:
    """A `Reader`. `delay_s` slows every call; `hang` holds them until `let_go`; `code` fails them."""

    def __init__(self) -> None:
        self.delay_s = 0.0
        self.code = 0
        self.calls = 0
        self.under_way = self.most_under_way = 0
        self._free = threading.Event()
        self._free.set()

    def hang(self) -> None:
        self._free.clear()

    def let_go(self) -> None:
        self._free.set()

    def fast(self) -> FastReading:
        self.calls += 1
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        self._free.wait(60)
        if self.delay_s:
            time.sleep(self.delay_s)
        self.under_way -= 1
        now_ns = time.monotonic_ns()
        return failed(now_ns, self.code) if self.code else fast(now_ns, energy_mj=now_ns // 3_000_000)

    def slow(self) -> SlowReading:
        return slow(time.monotonic_ns())
