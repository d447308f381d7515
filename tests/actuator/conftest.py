"""The guarded node of the guardian's tests, and an actuator process beside it."""

import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

_SPEC = importlib.util.spec_from_file_location(
    "guarded_node", Path(__file__).parents[1] / "guardian" / "conftest.py"
)
assert _SPEC is not None
assert _SPEC.loader is not None
_guarded = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_guarded)
native, node, wait_until = _guarded.native, _guarded.node, _guarded.wait_until


class Actuator:
    """One actuator process."""

    def __init__(self, folder: Path, socket: Path) -> None:
        self._folder, self._socket = folder, socket
        self.process: subprocess.Popen[str] | None = None
        self.health_file, self.stderr = folder / "actuator.health", folder / "actuator.log"

    def start(self, nats_url: str, **settings: object) -> None:
        own = {
            "node": "n1",
            "socket_path": self._socket,
            "nats_url": nats_url,
            "health_file": self.health_file,
        }
        environ = os.environ | {
            f"EASYRIDER_ACTUATOR_{name.upper()}": str(value) for name, value in {**own, **settings}.items()
        }
        with self.stderr.open("a") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "easyrider_actuator"], env=environ, stderr=stderr, text=True
            )

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()


@pytest.fixture
def actuator(tmp_path: Path, node: Any) -> Iterator[Actuator]:
    running = Actuator(tmp_path, node.socket)
    yield running
    if running.process is not None and running.process.poll() is None:
        running.process.kill()
        running.process.wait()


@pytest.fixture
def until() -> Callable[..., Any]:
    found: Callable[..., Any] = _guarded.until
    return found
