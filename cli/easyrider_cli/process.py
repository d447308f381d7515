"""Child processes of a local stack: started, watched, ended by their own id."""

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from easyrider.errors import EasyRiderError

_PR_SET_PDEATHSIG = 1


class ChildFailed(EasyRiderError):
    """A process of the stack ended or did not become ready; the last lines of its log say why."""

    def __init__(self, name: str, what: str, log: Path) -> None:
        self.name, self.what, self.log = name, what, log
        super().__init__(f"{name} {what}; its log {log} ends: {last_lines(log)}")


def how_it_ended(code: int | None) -> str:
    """An exit code in words; below 0 it is the signal that killed the process."""
    if code is None:
        return "was never started"
    if code >= 0:
        return f"ended with code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


@dataclass(slots=True)
class Child:
    """One process: how it is started, and the process once it is."""

    name: str
    command: Sequence[str]
    log: Path
    environ: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    orphaned: signal.Signals = signal.SIGTERM
    """What it is sent should the process that started it die; a frozen one ends by SIGKILL alone."""

    def start(self) -> None:
        """Start it in a session of its own; `orphaned` tells it should this process die."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                list(self.command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**_surroundings(), **self.environ},
                start_new_session=True,
                preexec_fn=lambda: _end_with_parent(self.orphaned),
            )

    @property
    def pid(self) -> int:
        """Its process id. Raises `ChildFailed` if it was never started."""
        if self.process is None:
            raise ChildFailed(self.name, "was never started", self.log)
        return self.process.pid

    def running(self) -> bool:
        """Started and not ended."""
        return self.process is not None and self.process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to this process and to no other."""
        if self.running():
            os.kill(self.pid, number)

    def ask_to_end(self) -> None:
        """Tell it to stop, also if it is frozen."""
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)

    def end(self, patience_s: float = 10.0) -> int | None:
        """Have it stop, insist after `patience_s`; its exit code."""
        if self.process is None:
            return None
        self.ask_to_end()
        try:
            return self.process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def end_all(children: Sequence[Child], patience_s: float = 10.0) -> None:
    """Have all of them stop side by side; whoever still runs after `patience_s` is killed."""
    for child in children:
        child.ask_to_end()
    deadline_s = time.monotonic() + patience_s
    for child in children:
        child.end(max(0.0, deadline_s - time.monotonic()))


def wait_for(child: Child, ready: Callable[[], bool], patience_s: float) -> None:
    """Return once `ready()` holds. Raises `ChildFailed` if the process ends or time runs out first."""
    deadline_s = time.monotonic() + patience_s
    while not ready():
        if not child.running():
            code = child.process.returncode if child.process else None
            raise ChildFailed(child.name, f"{how_it_ended(code)} before it was ready", child.log)
        if time.monotonic() > deadline_s:
            raise ChildFailed(child.name, f"was not ready within {patience_s:.0f} s", child.log)
        time.sleep(0.05)


def last_lines(log: Path, count: int = 3) -> str:
    """The end of a log on one line, or why there is none."""
    try:
        lines = log.read_text(errors="replace").splitlines()
    except OSError as fault:
        return f"(no log: {fault.strerror})"
    return " | ".join(lines[-count:]) or "(empty)"


def _surroundings() -> dict[str, str]:
    """This process's environment without settings of ours: those of a stack are its own, not its user's."""
    return {name: value for name, value in os.environ.items() if not name.startswith("EASYRIDER_")}


def _end_with_parent(number: signal.Signals) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)
