"""A stack that is up: a stranger's thirty lines hear it, and what it records of itself is replayed and exported."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from easyrider.messages import Plan
from easyrider.wire import decode
from easyrider_recorder.adapters.reader import NoRecording, Recording

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
HELLO = ROOT / "integrations" / "hello" / "hello.py"
EASYRIDER = [sys.executable, "-m", "easyrider_cli"]
PLANS = 35
"""Seconds of plans with jobs that are recorded before the stack is ended."""


class Recorded:
    """`easyrider up --record`, until enough was recorded."""

    def __init__(self, folder: Path) -> None:
        self.run, self.recording, self.log = folder / "r", folder / "recording", folder / "up.log"
        self.environ = {name: v for name, v in os.environ.items() if not name.startswith("EASYRIDER_")}
        command = [*EASYRIDER, "up", "--run", str(self.run), "--record", str(self.recording)]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, env=self.environ, stdout=log, stderr=log, preexec_fn=hears_interrupts
            )

    def until(self, true: Callable[[], Any], within_s: float, what: str) -> Any:
        end_s = time.monotonic() + within_s
        while not (found := true()):
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < end_s, f"not within {within_s} s: {what}"
            time.sleep(0.3)
        return found

    def plans(self) -> int:
        """Recorded plans that have jobs."""
        try:
            found = [each for _boot, each in Recording.open(self.recording).records()]
        except NoRecording:
            return 0
        plans = [decode(each.body, (Plan,)) for each in found if ".plan." in each.subject]
        return sum(bool(plan.jobs) for plan in plans)  # type: ignore[attr-defined]

    def easyrider(self, *words: str) -> str:
        done = subprocess.run(
            [*EASYRIDER, *words], env=self.environ, capture_output=True, text=True, timeout=200
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def hello_line(self) -> list[str]:
        """What `up` tells people to type."""
        (line,) = (line for line in self.log.read_text().splitlines() if "hello.py" in line)
        return line[line.index("hello.py") :].split()[1:]


def hears_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # tests run in the background inherit a deaf one


@pytest.fixture(scope="module")
def up() -> Iterator[Recorded]:
    folder = Path(tempfile.mkdtemp(prefix="u-"))
    stack = Recorded(folder)
    try:
        stack.until(lambda: "up in enforce" in stack.log.read_text(), 90, "the stack to be up")
        yield stack
    finally:
        if stack.process.poll() is None:
            stack.process.send_signal(signal.SIGINT)
            try:
                stack.process.wait(30)
            finally:
                stack.process.kill()
        shutil.rmtree(folder, ignore_errors=True)


def test_thirty_lines_of_a_stranger_hear_plans_and_kept_events(up: Recorded) -> None:
    stranger = subprocess.Popen(
        [sys.executable, "-I", str(HELLO), *up.hello_line()], stdout=subprocess.PIPE, text=True
    )
    try:
        assert stranger.stdout is not None
        heard: list[str] = []
        end_s = time.monotonic() + 30
        while not (
            {"pdu", "ups"} <= {line.split(":")[0] for line in heard} and "leader_change" in str(heard)
        ):
            assert time.monotonic() < end_s, heard
            assert stranger.poll() is None
            heard.append(stranger.stdout.readline())
    finally:
        stranger.kill()
        stranger.communicate()

    (watts,) = {line.split(" of ")[1] for line in heard if line.startswith("pdu: ") and "of" in line}
    assert watts.endswith(" W\n")


def test_it_needs_nothing_of_ours() -> None:
    told = HELLO.read_text()

    assert not any(line.startswith(("import easyrider", "from easyrider")) for line in told.splitlines())
    assert len(told.splitlines()) < 55, "some fifty lines, as the README says"


def test_a_recording_of_the_stack_replays_to_nearly_the_same_limits_and_twice_to_the_same(
    up: Recorded, tmp_path: Path
) -> None:
    up.until(lambda: up.plans() >= PLANS, 150, f"{PLANS} plans with jobs")
    up.process.send_signal(signal.SIGINT)
    up.process.wait(30)
    end = max(
        each.unix_ns for _boot, each in Recording.open(up.recording).records() if ".plan." in each.subject
    )
    until_there = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(end / 1e9))

    told = []
    for name in ("first", "second"):
        figures, picture = tmp_path / f"{name}.json", tmp_path / f"{name}.png"
        shown = up.easyrider(
            "replay",
            str(up.recording),
            "--to",
            until_there,
            "--json",
            str(figures),
            "--picture",
            str(picture),
        )
        told.append(json.loads(figures.read_text()))
        assert "recorded -> replayed" in shown
        assert picture.read_bytes().startswith(b"\x89PNG")

    first, second = told
    assert first == second
    assert (first["dropped"], first["malformed"], first["damage"]) == (0, 0, [])
    assert first["boards_compared"] == 32
    assert first["mean_limit_difference_w"] < 15.0
    assert first["near_share"] > 0.6
    assert first["lost_gpu_s_replayed"] == pytest.approx(first["lost_gpu_s_recorded"], rel=0.1)
    print(
        f"\nlimits differ by {first['mean_limit_difference_w']:.1f} W in the mean, near {first['near_share']:.1%}"
    )


def test_its_samples_are_exported_as_a_table(up: Recorded, tmp_path: Path) -> None:
    file, columns = tmp_path / "gpus.csv", tmp_path / "gpus.parquet"

    up.easyrider("export", str(up.recording), "--csv", str(file))
    up.easyrider("export", str(up.recording), "--parquet", str(columns))

    with file.open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert len({row["gpu"] for row in rows}) == 32
    assert len(rows) > 1000
    assert all(row["power_w"] != "0.0" for row in rows)
    assert all((row["mean_w"] == "") == (row["mean_quality"] != "valid") for row in rows)
    import pyarrow.parquet

    assert pyarrow.parquet.read_metadata(columns).num_rows == len(rows)
