"""`easyrider twin exec -- CMD`: any NVML program on a simulated node of eight GPUs.

The node is that of the stack that is up, else one that is started for the command and ends with it.
On the running stack the command has no more rights than its user; on a node of its own it may set limits.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from easyrider.errors import EasyRiderError
from easyrider_twin import library, statefile

STALE_S = 5.0
"""A state file whose simulator has not stepped for so long belongs to a stack that is gone."""
START_S = 20.0


class NoSuchNode(EasyRiderError):
    """The node that was asked for is not simulated by the stack that is up; the command was not started."""

    def __init__(self, node: str, run_dir: Path, known: list[str]) -> None:
        self.node, self.run_dir, self.known = node, run_dir, known
        what = f"it has {', '.join(known)}" if known else "no node moves there"
        super().__init__(f"no node {node!r} in {run_dir}: {what}")


class NoStackMoves(EasyRiderError):
    """A run folder was named, but no stack moves there; the command was not started."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        super().__init__(
            f"no stack is up in {run_dir}; without --run and EASYRIDER_RUN a node is started for the command"
        )


class NodeNotStarted(EasyRiderError):
    """The node for the command did not come up; the command was not started."""


def run(command: list[str], *, node: str | None = None, run_dir: Path | None = None) -> int:
    """The exit status of `command`, run with the simulated library in place of NVIDIA's.

    127 if there is no such command, 128 + n if signal n ended it.
    Raises `NoStackMoves`, `NoSuchNode`, `NodeNotStarted` or `library.LibraryNotBuilt`.
    """
    native = library.folder()
    where = run_dir or default_run_dir()
    moving = running_nodes(where)
    if node is not None and node not in moving:
        raise NoSuchNode(node, where, sorted(moving))
    if not moving and (run_dir is not None or os.environ.get("EASYRIDER_RUN")):
        raise NoStackMoves(where)
    if moving:
        chosen = node or min(moving)
        return _spawn(command, environment(moving[chosen], native))
    with _own_node() as state:
        return _spawn(command, environment(state, native) | {"EASYRIDER_TWIN_PRIVILEGED": "1"})


def default_run_dir() -> Path:
    """`$EASYRIDER_RUN`, else the run folder of this user's stack."""
    if named := os.environ.get("EASYRIDER_RUN"):
        return Path(named)
    return Path(os.environ.get("XDG_RUNTIME_DIR", "/tmp")) / f"easyrider-{os.getuid()}" / "current"


def running_nodes(run_dir: Path) -> dict[str, Path]:
    """State files below `run_dir` that a simulator still advances, by node."""
    return {path.parent.name: path for path in sorted(run_dir.glob("*/nvml.state")) if _moves(path)}


def environment(state: Path, native: Path) -> dict[str, str]:
    """This process's environment with the simulated library in front, on one node's state file."""
    return dict(os.environ) | {
        "EASYRIDER_TWIN_STATE": str(state),
        "LD_LIBRARY_PATH": _in_front(native, os.environ.get("LD_LIBRARY_PATH")),
        "PATH": _in_front(native / "bin", os.environ.get("PATH")),
    }


def _in_front(folder: Path, rest: str | None) -> str:
    return f"{folder}{os.pathsep}{rest}" if rest else str(folder)


def _moves(path: Path) -> bool:
    try:
        step_ns = int(statefile.attach(path).header["step_ns"])
    except (OSError, ValueError):
        return False  # gone meanwhile, not ours, or not readable by this user
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) - step_ns < STALE_S * 1e9


@contextmanager
def _own_node() -> Iterator[Path]:
    run_dir = Path(tempfile.mkdtemp(prefix="easyrider-exec-"))
    child = subprocess.Popen(
        [sys.executable, "-m", "easyrider_twin.standalone", str(run_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a Ctrl-C is for the command; this ends when its input closes
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        if child.stdout.readline() != "ready\n":
            raise NodeNotStarted("the simulated node ended before it was ready")
        yield run_dir / "standalone" / "nvml.state"
    finally:
        child.stdin.close()
        try:
            child.wait(timeout=START_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        child.stdout.close()
        shutil.rmtree(run_dir, ignore_errors=True)


def _spawn(command: list[str], env: Mapping[str, str]) -> int:
    children: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        for child in children:
            child.send_signal(number)
        if not children:
            early.append(number)

    def leave_to_the_terminal(_number: int, _frame: FrameType | None) -> None:
        """Ctrl-C reaches the command itself; ignoring the signal instead would be inherited by it."""

    before = {
        signal.SIGTERM: signal.signal(signal.SIGTERM, pass_on),
        signal.SIGINT: signal.signal(signal.SIGINT, leave_to_the_terminal),
    }
    try:
        children.append(subprocess.Popen(command, env=dict(env)))
        for number in early:
            children[0].send_signal(number)
        status = children[0].wait()
    except FileNotFoundError:
        print(f"easyrider twin exec: {command[0]}: command not found", file=sys.stderr)
        return 127
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status
