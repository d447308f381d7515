"""`easyrider up` as a process, and other commands beside it that know nothing but the user's environment."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

EASYRIDER = str(Path(sys.executable).parent / "easyrider")


class KeptUp:
    """A stack whose files are all below `runtime`; `words`: more of its command line."""

    def __init__(self, runtime: Path, *words: str) -> None:
        self.environ = {name: v for name, v in os.environ.items() if not name.startswith("EASYRIDER_")}
        self.environ["XDG_RUNTIME_DIR"] = str(runtime)
        self.log = runtime / "up.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [EASYRIDER, "up", *words],
                env=self.environ, stdout=log, stderr=log, preexec_fn=_end_with_the_tests,
            )  # fmt: skip

    def run(self, *words: str, within_s: float = 60.0) -> "subprocess.CompletedProcess[str]":
        command = [EASYRIDER, *words]
        return subprocess.run(command, env=self.environ, capture_output=True, text=True, timeout=within_s)

    def until(self, true: Callable[[], Any], within_s: float, what: str) -> Any:
        """What `true` gives once that is something, while the stack is up."""
        end_s = time.monotonic() + within_s
        while not (found := true()):
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < end_s, f"not within {within_s} s: {what}"
            time.sleep(0.2)
        return found


@contextmanager
def kept_up(kind: Callable[[Path], Any]) -> Iterator[Any]:
    """A `KeptUp` of this kind in a folder of its own, once it is up; ended as people end it."""
    runtime = Path(tempfile.mkdtemp(prefix="u-"))  # short: sockets lie below it
    stack = kind(runtime)
    try:
        stack.until(lambda: "up in enforce" in stack.log.read_text(), 90, "the stack to be up")
        yield stack
    finally:
        try:
            if stack.process.poll() is None:
                stack.process.send_signal(signal.SIGINT)
                stack.process.wait(30)
        finally:
            stack.process.kill()
            shutil.rmtree(runtime, ignore_errors=True)


def _end_with_the_tests() -> None:
    """Should they be killed, the stack is told to end."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # tests run in the background inherit a deaf one
