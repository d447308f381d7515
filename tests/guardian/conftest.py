"""A guardian as a process of its own over the simulated NVML library, and hands to command it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from easyrider import wire
from easyrider.guardian_link import GuardianLink, LinkBroken
from easyrider.messages import ExitGrant, GpuLimit, Hold, LimitAck, NodeState, SetLimits
from easyrider_twin import library, statefile

GPUS, MIN_W, MAX_W, DEFAULT_W = 4, 200.0, 700.0, 700.0


def until(true: Callable[[], Any], within_s: float = 5.0, every_s: float = 0.01) -> Any:
    """What `true` returned once it was true; an assertion error after `within_s`."""
    end_s = time.monotonic() + within_s
    while not (found := true()):
        assert time.monotonic() < end_s, f"not within {within_s} s"
        time.sleep(every_s)
    return found


class GuardedNode:
    """Four simulated boards, and the guardian of their node."""

    def __init__(self, folder: Path, native: Path) -> None:
        self.folder, self.native = folder, native
        self.state_dir, self.socket = folder / "guardian", folder / "guardian.sock"
        self.boards = statefile.create(folder / "nvml.state", GPUS, "n1")
        gpus = self.boards.gpus
        for index in range(GPUS):
            gpus["uuid"][index] = f"GPU-{index}".encode()
        gpus["min_mw"], gpus["max_mw"], gpus["default_mw"] = MIN_W * 1e3, MAX_W * 1e3, DEFAULT_W * 1e3
        gpus["requested_mw"] = gpus["enforced_mw"] = gpus["default_mw"]
        gpus["capabilities"] = 1 | 2 | 4 | 8
        self.epoch, self.seq = 1, 0
        self.process: subprocess.Popen[str] | None = None
        self.stderr = folder / "guardian.log"

    def environment(self, **settings: object) -> dict[str, str]:
        own = {
            "node": "n1",
            "state_dir": self.state_dir,
            "socket_path": self.socket,
            "fallback_w": 300,
            **settings,
        }
        environ = os.environ | {
            f"EASYRIDER_GUARDIAN_{name.upper()}": str(value) for name, value in own.items()
        }
        return environ | {
            "EASYRIDER_TWIN_STATE": str(self.boards.path),
            "LD_LIBRARY_PATH": str(self.native),
            "EASYRIDER_TWIN_PRIVILEGED": "1",
        }

    def launch(self, *words: str, program: list[str] | None = None, **settings: object) -> None:
        """Started, and asked nothing yet."""
        command = program or [sys.executable, "-m", "easyrider_guardian"]
        with self.stderr.open("a") as stderr:
            self.process = subprocess.Popen(
                [*command, *words], env=self.environment(**settings), stderr=stderr, text=True
            )

    def start(self, *words: str, program: list[str] | None = None, **settings: object) -> None:
        self.launch(*words, program=program, **settings)
        until(self._answers, 10)

    def restore_alone(self) -> int:
        """The exit code of `easyrider-guardian --restore`."""
        command = [sys.executable, "-m", "easyrider_guardian", "--restore"]
        with self.stderr.open("a") as stderr:
            return subprocess.run(command, env=self.environment(), stderr=stderr, timeout=20).returncode

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.stderr.read_text()
        try:
            with GuardianLink.open(self.socket, 2) as link:
                link.state()
        except LinkBroken:
            return False
        return True

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def exit_code(self, within_s: float = 10) -> int:
        assert self.process is not None
        return self.process.wait(within_s)

    def state(self) -> NodeState:
        with GuardianLink.open(self.socket) as link:
            return link.state()

    def ready(self, boards: int = GPUS) -> NodeState:
        """The state once so many boards answered."""

        def seen() -> NodeState | None:
            state = self.state()
            return state if sum(gpu.enforced_w is not None for gpu in state.gpus) >= boards else None

        state: NodeState = until(seen)
        return state

    def limits(
        self,
        *limits_w: float | None,
        fallback_w: float | None = 250.0,
        ttl_s: float = 2.0,
        nonce: int | None = None,
        **fields: Any,
    ) -> SetLimits:
        """The next command with these limits, board by board."""
        self.seq += 1
        own: dict[str, Any] = {"tree": "site", "region": "local", "node": "n1", "epoch": self.epoch}
        own |= {"seq": self.seq, "ttl_s": ttl_s, "nonce": self.state().nonce if nonce is None else nonce}
        vector = tuple(
            GpuLimit(uuid=f"GPU-{i}", limit_w=w, fallback_w=None if w is None else fallback_w)
            for i, w in enumerate(limits_w)
        )
        return SetLimits(**{**own, "limits": vector, **fields})

    def grant(self, kind: type[Hold] | type[ExitGrant], **fields: Any) -> Hold | ExitGrant:
        """The next command of this kind."""
        self.seq += 1
        own: dict[str, Any] = {"tree": "site", "region": "local", "node": "n1", "epoch": self.epoch}
        own |= {"seq": self.seq, "ttl_s": 2.0, "nonce": self.state().nonce}
        return kind(**{**own, **fields})

    def say(self, command: SetLimits | Hold | ExitGrant) -> LimitAck:
        with GuardianLink.open(self.socket) as link:
            return link.apply(wire.encode(command))

    def enforced_w(self) -> list[float]:
        """What the boards enforce, as the hardware says."""
        return [float(w) / 1e3 for w in statefile.enforced_limits_mw(self.boards.gpus)]

    @property
    def writes(self) -> int:
        """Limit writes that the hardware remembers."""
        return int(self.boards.header["ring_head"])

    def lines(self, name: str = "writes.jsonl") -> list[dict[str, Any]]:
        path = self.state_dir / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def stored(self) -> dict[str, Any]:
        body = (self.state_dir / "state.json").read_bytes().split(b"\n")[0]
        found: dict[str, Any] = msgspec.json.decode(body)
        return found


@pytest.fixture(scope="session")
def native() -> Path:
    return library.folder()


@pytest.fixture
def node(tmp_path: Path, native: Path) -> Iterator[GuardedNode]:
    guarded = GuardedNode(tmp_path, native)
    yield guarded
    if guarded.process is not None and guarded.process.poll() is None:
        guarded.process.kill()
        guarded.process.wait()


@pytest.fixture
def wait_until() -> Callable[..., Any]:
    return until
