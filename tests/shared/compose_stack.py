"""The product in containers, as `make up` brings it up: what a test may do to it and see of it from outside."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from easyrider.free_ports import free_port

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "deploy" / "compose" / "stack.sh"
NODES = ("node-1", "node-2")
_LIMITS = (
    "import json; from pathlib import Path; from easyrider_twin import statefile; "
    "print(json.dumps({n: [int(v) / 1000 for v in statefile.attach(Path('/run/easyrider-twin') / n / 'nvml.state')"
    ".gpus['enforced_mw']] for n in ('node-1', 'node-2')}))"
)
Limits = dict[str, list[float]]


def until(true: Callable[[], Any], within_s: float, what: str) -> Any:
    """What `true` gives once that is something. Fails after `within_s`."""
    end_s = time.monotonic() + within_s
    while not (found := true()):
        assert time.monotonic() < end_s, f"not within {within_s:.0f} s: {what}"
        time.sleep(0.2)
    return found


@dataclass(frozen=True, slots=True)
class ComposeStack:
    """One project of compose.yaml with a site folder and ports of its own; `port` is that of the bus."""

    project: str
    site: Path
    port: int
    api_port: int
    patience_s: int = 60  # until a service that is not well is called so
    top: str = ""  # what follows the names of the services of the region at the top, where there are several

    @property
    def environ(self) -> dict[str, str]:
        """What stack.sh and Compose are told."""
        return os.environ | {
            "EASYRIDER_PROJECT": self.project,
            "EASYRIDER_SITE": str(self.site),
            "EASYRIDER_NATS_PORT": str(self.port),
            "EASYRIDER_API_PORT": str(self.api_port),
            "EASYRIDER_GID": str(self.site.stat().st_gid if self.site.exists() else 10001),
            "EASYRIDER_HEALTH_INTERVAL": "1s",
            "EASYRIDER_HEALTH_RETRIES": "15",  # of one second: as patient as the shipped file with its ten
            "EASYRIDER_HEALTH_START": f"{self.patience_s}s",
            "EASYRIDER_TOP": self.top,
        }

    def run(self, command: str, *, profiles: str = "twin", patience_s: float = 600.0) -> Any:
        """`make up` or `make down` as they are."""
        return subprocess.run(
            [str(SCRIPT), command],
            env=self.environ | {"EASYRIDER_PROFILES": profiles},
            capture_output=True,
            text=True,
            timeout=patience_s,
            check=False,
        )

    def compose(self, *words: str) -> str:
        """One Compose command; its output. Raises `CalledProcessError`."""
        profiles = ["--profile", "twin", *(["--profile", "regions"] if self.top else [])]
        command = ["docker", "compose", "-p", self.project, *profiles, *words]
        return subprocess.run(
            command, env=self.environ, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True
        ).stdout

    def container(self, service: str) -> dict[str, Any]:
        """What the engine knows of the container of one service."""
        name = f"{self.project}-{service}-1"
        told = subprocess.run(["docker", "inspect", name], capture_output=True, text=True, check=True)
        return dict(json.loads(told.stdout)[0])

    def pid(self, service: str) -> int:
        """Of its first process, on this machine; 0 while there is none."""
        return int(self.container(service)["State"]["Pid"])

    def is_well(self, service: str) -> bool:
        """Whether it runs and its health check says so."""
        state = self.container(service)["State"]
        return bool(state["Running"]) and state["Health"]["Status"] == "healthy"

    def kill(self, service: str) -> int:
        """Kill it from outside, as a crash would end it; the id it had. (The engine's own kill counts as a stop.)"""
        pid = self.pid(service)
        os.kill(pid, signal.SIGKILL)
        return pid

    def limits_w(self) -> Limits:
        """What every simulated board enforces, read from the hardware's side."""
        return dict(json.loads(self.compose("exec", "-T", "twin", "python", "-c", _LIMITS)))

    def writes(self, node: str) -> list[dict[str, Any]]:
        """Every limit that the guardian of a node has written, with its cause."""
        told = self.compose(
            "exec", "-T", f"guardian-{node}", "cat", "/var/lib/easyrider-guardian/writes.jsonl"
        )
        return [json.loads(line) for line in told.splitlines()]

    def said(self, service: str) -> str:
        """All that a container logged."""
        told = subprocess.run(
            ["docker", "logs", f"{self.project}-{service}-1"], capture_output=True, text=True, check=True
        )
        return told.stdout + told.stderr

    def left_over(self) -> list[str]:
        """Containers, networks and volumes of this project."""
        found = []
        label = f"label=com.docker.compose.project={self.project}"
        for kind in (("ps", "-aq"), ("network", "ls", "-q"), ("volume", "ls", "-q")):
            told = subprocess.run(
                ["docker", *kind, "--filter", label], capture_output=True, text=True, check=True
            )
            found += told.stdout.split()
        return found


@contextmanager
def own_stack(folder: Path, name: str, patience_s: int = 60, top: str = "") -> Iterator[ComposeStack]:
    """A project that is not up yet; whatever of it was brought up is gone on the way out."""
    project = f"er-test-{name}-{os.getpid()}"
    stack = ComposeStack(project, folder / "site", free_port(), free_port(), patience_s, top)
    try:
        yield stack
    finally:
        stack.run("down")
