"""The clocks of this host."""

import time
import uuid
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def mono_ns() -> int:
    """CLOCK_MONOTONIC, the clock of every arrival."""
    return time.monotonic_ns()


def unix_ns() -> int:
    """Unix time, for people."""
    return time.time_ns()


def boot_id() -> str:
    """The kernel's name of this boot; where it gives none, a name of this process."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return str(uuid.uuid4())
