"""The telemetry process beside a Docker engine: a process in a container becomes a job, and a hang becomes nothing."""

import contextlib
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from docker_engine import engine
from telemetry_ear import UUIDS, running, until

pytestmark = pytest.mark.system

CONTAINER = "5" * 64


@contextlib.contextmanager
def contained() -> Iterator[int]:
    """A process of ours in a cgroup that is named as an engine names one; its id."""
    for root in (Path("/sys/fs/cgroup/freezer"), Path("/sys/fs/cgroup/pids"), Path("/sys/fs/cgroup")):
        place = root / CONTAINER
        try:
            place.mkdir()
        except OSError:
            continue
        break
    else:
        pytest.skip("no cgroup may be made here")
    process = subprocess.Popen(["sleep", "300"])
    try:
        (place / "cgroup.procs").write_text(str(process.pid))
        yield process.pid
    finally:
        process.kill()
        process.wait(10)
        end_s = time.monotonic() + 5
        while time.monotonic() < end_s:  # the kernel empties it in its own time
            with contextlib.suppress(OSError):
                place.rmdir()
                break
            time.sleep(0.05)


def resident_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


def holds(pid: int, *slots: int):
    """Put the process on these boards before telemetry begins."""

    def before(node) -> None:
        for slot in slots:
            node.state.gpus["process_pids"][slot, 0] = pid

    return before


async def test_a_process_in_a_labelled_container_is_a_job_on_the_bus_until_it_ends(nats, tmp_path):
    with engine(tmp_path / "docker.sock") as running_engine, contained() as pid:
        running_engine.runs(
            CONTAINER, easyrider_job="llm-7", easyrider_tenant="vision", easyrider_priority="high"
        )
        settings = {"jobs_docker": running_engine.address, "docker_every_s": "2"}
        async with running(nats, tmp_path, holds(pid, 1, 6), **settings) as (node, ear, process):
            await until(lambda: [event for event in ear.jobs if event.change == "started"])
            rss_mb = resident_mb(process.pid)
            node.state.gpus["process_pids"] = 0
            await until(lambda: [event for event in ear.jobs if event.change == "ended"])

    assert rss_mb < 45
    first = ear.jobs[0]
    assert (first.job, first.tenant, first.priority_class) == ("llm-7", "vision", "high")
    assert set(first.gpus) == {UUIDS[1], UUIDS[6]}
    assert first.started_ns == pytest.approx(1_767_960_000_123_456_000, abs=1_000_000)


async def test_an_engine_that_hangs_costs_no_frame_and_the_board_counts_as_in_use(nats, tmp_path):
    with engine(tmp_path / "docker.sock") as running_engine, contained() as pid:
        running_engine.runs(CONTAINER, easyrider_job="llm-7")
        running_engine.hangs.set()
        settings = {"jobs_docker": running_engine.address, "docker_every_s": "2"}
        async with running(nats, tmp_path, holds(pid, 0), **settings) as (_node, ear, _process):
            await until(lambda: running_engine.asked)
            begun = len(ear.frames)
            await until(lambda: len(ear.frames) >= begun + 40)
            provisional = await until(lambda: [event.job for event in ear.jobs])
            running_engine.hangs.clear()
            running_engine.goes_on.set()
            await until(lambda: [event for event in ear.jobs if event.job == "llm-7"])

    frames = ear.frames[begun : begun + 40]
    assert [frame.seq for frame in frames] == list(range(frames[0].seq, frames[0].seq + 40))
    gaps_ms = np.diff([frame.mono_ns for frame in frames]) / 1e6
    assert np.percentile(gaps_ms, 90) < 200
    assert provisional[0] == "container-" + CONTAINER[:12]
