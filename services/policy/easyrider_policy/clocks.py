"""What time it is, in this process alone."""

import time
from dataclasses import dataclass


@dataclass(slots=True)
class Clocks:
    """The clocks of this process; only here are they read."""

    def now_s(self) -> float:
        """Monotonic."""
        return time.monotonic()

    def boot_ns(self) -> int:
        """Since boot, sleep included: what records of one machine share."""
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME)

    def unix_s(self) -> float:
        """Time of day, for appointments: load targets begin and end by it."""
        return time.time()

    def stamps_ns(self) -> tuple[int, int]:
        """Unix and monotonic, for messages."""
        return time.time_ns(), time.monotonic_ns()
