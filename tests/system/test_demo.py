"""The demonstration as an ordinary user starts it, judged by its own figures and by what it leaves behind."""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.system, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
UID = 10001
SECONDS = 120


def ordinary(home: Path) -> tuple[list[str], dict[str, str], int]:
    """Words in front of a command, its environment and its user: one who is not root and writes below `home` only."""
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("EASYRIDER_", "XDG_"))},
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "TMPDIR": str(home),
    }
    if os.geteuid() != 0:
        return [], environ, os.geteuid()
    os.chown(home, UID, UID)
    caps = ("--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search")
    words = [
        "setpriv",
        "--pdeathsig",
        "TERM",
        "--reuid",
        str(UID),
        "--regid",
        str(UID),
        "--clear-groups",
        *caps,
    ]
    return words, environ, UID


@dataclass
class Watched:
    """A demonstration as a process, and every process that it started."""

    process: "subprocess.Popen[str]"
    seen: dict[int, str] = field(default_factory=dict)
    guardian_euids: set[int] = field(default_factory=set)

    def look(self) -> None:
        for place in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
                if parent != self.process.pid:
                    continue
                command = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                status = (place / "status").read_text()
            except (OSError, IndexError):
                continue  # it ended while it was looked at
            self.seen[int(place.name)] = command
            if "easyrider_guardian" in command:
                self.guardian_euids.add(int(status.partition("Uid:")[2].split()[1]))

    def left_running(self) -> dict[int, str]:
        return {pid: command for pid, command in self.seen.items() if same(pid, command)}


def same(pid: int, command: str) -> bool:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode() == command
    except OSError:
        return False


def end_with_the_tests() -> None:
    """Should they be killed, the demonstration is told to end; a change of user forgets it and says it again."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # tests run in the background inherit a deaf one


def start(home: Path, *arguments: str) -> Watched:
    words, environ, _ = ordinary(home)
    command = [*words, str(Path(sys.executable).parent / "easyrider"), "demo", *arguments]
    with (home / "stderr").open("w") as errors, (home / "stdout").open("w") as output:
        process = subprocess.Popen(
            command,
            cwd=home,
            env=environ,
            text=True,
            stdout=output,
            stderr=errors,
            preexec_fn=end_with_the_tests,
        )
    return Watched(process)


def wait(watched: Watched, within_s: float) -> int:
    end_s = time.monotonic() + within_s
    while watched.process.poll() is None and time.monotonic() < end_s:
        watched.look()
        time.sleep(0.2)
    if watched.process.poll() is None:
        watched.process.kill()
        pytest.fail(f"not ended within {within_s} s")
    return watched.process.returncode


@pytest.fixture
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="h-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.timeout(300)
def test_the_demo_keeps_every_promise_it_makes(home: Path) -> None:
    began_s = time.monotonic()
    watched = start(home, "--seconds", str(SECONDS), "--json", "r.json")
    code = wait(watched, 240)

    errors = (home / "stderr").read_text()
    assert code == 0, errors
    assert time.monotonic() - began_s < 240 - (150 - SECONDS)
    report: dict[str, Any] = json.loads((home / "r.json").read_text())
    without, static, live = report["without"], report["static"], report["with"]
    assert without["trips"] >= 1
    assert static["trips"] == 0
    assert live["final"]
    assert live["ring_overruns"] == 0
    zero = ("trips", "sum_rule_violations", "limit_out_of_range", "late_commands_applied", "foreign_writes")
    assert {name: live[name] for name in zero} == dict.fromkeys(zero, 0)
    for counted in ("acks", "limits_changed", "raises_that_waited"):
        assert live[counted] > 0, counted
    assert live["overload_joules"] >= 0.0
    assert live["work_lost_pct"] <= 0.65 * static["work_lost_pct"]
    assert [job["id"] for job in live["jobs"]] == [job["id"] for job in static["jobs"]]
    assert all(job["killed_at_s"] is None for job in live["jobs"])

    for word in ("module of 5 of ups failed", "acks", "raises that waited"):
        assert word in errors
    for word in ("stays up", "ups trips at", "sum rule violations"):
        assert word in (home / "stdout").read_text()
    for picture in ("demo_power.png", "demo_work.png"):
        assert (home / picture).read_bytes().startswith(b"\x89PNG")

    assert watched.guardian_euids == {ordinary(home)[2]}
    assert watched.left_running() == {}
    assert list(home.glob("er-*")) == []
    if os.geteuid() == 0:
        found = subprocess.run(
            ["find", str(ROOT), "-uid", str(UID)], capture_output=True, text=True, check=True
        )
        assert found.stdout == ""


@pytest.mark.timeout(120)
def test_ctrl_c_ends_every_process_of_a_demo_in_order(home: Path) -> None:
    watched = start(home, "--seconds", str(SECONDS))
    end_s = time.monotonic() + 60
    while "in real time" not in (home / "stderr").read_text():
        assert watched.process.poll() is None, (home / "stderr").read_text()
        assert time.monotonic() < end_s
        watched.look()
        time.sleep(0.1)
    assert len(watched.seen) >= 17

    watched.process.send_signal(signal.SIGINT)

    assert wait(watched, 20) == 130
    errors = (home / "stderr").read_text()
    assert "nothing is left running" in errors
    assert "Traceback" not in errors
    assert watched.left_running() == {}
    assert list(home.glob("er-*")) == []
