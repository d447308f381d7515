"""The clocks of this node: boot time for every decision, the others for people and for readers of our messages."""

import time
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def boot_ns() -> int:
    """CLOCK_BOOTTIME: goes on in suspend, and nobody can set it."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def mono_ns() -> int:
    """CLOCK_MONOTONIC, by which receivers tell the age of what we say."""
    return time.monotonic_ns()


def wall_ns() -> int:
    """Unix time, for people."""
    return time.time_ns()


def boot_id() -> str:
    """The kernel's name of this boot."""
    return _BOOT_ID.read_text(encoding="ascii").strip()
