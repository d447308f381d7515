"""CPU and network load of the host, from /proc."""

import os
import time
from pathlib import Path

from easyrider_telemetry.core.frame import HostLoad


class HostReader:
    """Differences since the last read; the first one shows 0."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._stat, self._net_dev = _open(proc / "stat"), _open(proc / "net" / "dev")
        self._cpu: tuple[int, int] | None = None
        self._net: tuple[int, int, int] | None = None

    def read(self) -> HostLoad:
        """Load since the last call. What cannot be read shows 0: it is for people, no decision reads it."""
        cpu_pct = self._cpu_pct()
        rx, tx = self._net_bytes_per_s()
        return HostLoad(cpu_pct=cpu_pct, net_rx_bytes_per_s=rx, net_tx_bytes_per_s=tx)

    def _cpu_pct(self) -> float:
        try:
            line, _, _ = os.pread(self._stat, 512, 0).partition(b"\n")
            ticks = [int(word) for word in line.split()[1:9]]
            total, idle = sum(ticks), ticks[3] + ticks[4]
        except (OSError, ValueError, IndexError):
            return 0.0
        before, self._cpu = self._cpu, (total, idle)
        if before is None or total <= before[0]:
            return 0.0
        return min(100.0, max(0.0, 100 * (1 - (idle - before[1]) / (total - before[0]))))

    def _net_bytes_per_s(self) -> tuple[float, float]:
        try:
            received = sent = 0
            for line in os.pread(self._net_dev, 65536, 0).splitlines()[2:]:
                name, _, rest = line.partition(b":")
                if name.strip() != b"lo":
                    words = rest.split()
                    received += int(words[0])
                    sent += int(words[8])
        except (OSError, ValueError, IndexError):
            return 0.0, 0.0
        now_ns = time.monotonic_ns()
        before, self._net = self._net, (now_ns, received, sent)
        if before is None or now_ns <= before[0]:
            return 0.0, 0.0
        elapsed_s = (now_ns - before[0]) / 1e9
        return max(0.0, (received - before[1]) / elapsed_s), max(0.0, (sent - before[2]) / elapsed_s)


def _open(path: Path) -> int:
    """A descriptor kept for good: a file of /proc is made anew at each read from its beginning. -1: not there."""
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1
