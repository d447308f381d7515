"""The real telemetry process on a simulated node, with a real bus; synthetic load."""

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from easyrider_twin import library, standalone, statefile


class MovingNode:
    """A node file of eight boards that a thread advances every 20 ms; the counter steps every 100 ms."""

    def __init__(self, folder: Path) -> None:
        self.state = standalone.create(folder / "nvml.state")
        self.library = library.folder()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._move, daemon=True)

    def environment(self, **extra: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("EASYRIDER_")}
        return kept | {
            "EASYRIDER_TWIN_STATE": str(self.state.path),
            "LD_LIBRARY_PATH": str(self.library),
            **extra,
        }

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _move(self) -> None:
        load, begun_s = standalone.Load(standalone.GPUS), time.monotonic()
        last_s = begun_s
        while not self._stop.wait(0.1):
            now_s = time.monotonic()
            load.step(now_s - begun_s, now_s - last_s, statefile.enforced_limits_mw(self.state.gpus) / 1e3)
            standalone.show(self.state, load)
            last_s = now_s


@contextlib.contextmanager
def moving_node(folder: Path) -> Iterator[MovingNode]:
    """A node whose sensors move while the block runs."""
    node = MovingNode(folder)
    node.start()
    try:
        yield node
    finally:
        node.stop()


@contextlib.contextmanager
def telemetry(
    node: MovingNode, nats_url: str, folder: Path, **settings: str
) -> Iterator[subprocess.Popen[bytes]]:
    """The service as a process of its own; ended with the block."""
    names = {"node": "n1", "nats_url": nats_url, "health_file": str(folder / "health"), **settings}
    environment = node.environment(
        **{f"EASYRIDER_TELEMETRY_{name.upper()}": value for name, value in names.items()}
    )
    log = (folder / "telemetry.log").open("wb")
    process = subprocess.Popen([sys.executable, "-m", "easyrider_telemetry"], env=environment, stderr=log)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        finally:
            process.kill()
            log.close()
