"""Memory of this process: its highest since it was last asked to forget."""

import contextlib
import resource
from pathlib import Path

_STATUS, _FORGET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def forget_peak() -> None:
    """Let the peak be what is resident now, where the kernel can; else the peak stays that of the whole life."""
    with contextlib.suppress(OSError):
        _FORGET.write_text("5")


def peak_mb() -> float:
    """Highest resident memory since then, MB."""
    with contextlib.suppress(OSError, StopIteration):
        lines = _STATUS.read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
