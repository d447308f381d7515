"""What reaches the telemetry process from beside the boards: jobs, phase marks, partitions."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from telemetry_ear import UUIDS, running, until

pytestmark = pytest.mark.system


def write_jobs(path: Path, *jobs: dict) -> None:
    half = path.with_suffix(".new")
    half.write_text(json.dumps({"jobs": jobs}))
    half.replace(path)


def job(name: str, *uuids: str) -> dict:
    return {
        "id": name, "type_key": "llm", "priority_class": "high", "tenant": "t", "queue": "q",
        "gpu_uuids": list(uuids), "started": 1_700_000_000,
    }  # fmt: skip


async def test_jobs_start_change_and_end_as_the_file_says_and_survive_a_bad_file(nats, tmp_path):
    jobs = tmp_path / "jobs.json"
    write_jobs(jobs, job("a", *UUIDS[:4]), job("b", *UUIDS[4:]))

    async with running(nats, tmp_path, jobs_file=str(jobs)) as (_, ear, _process):
        await until(lambda: len(ear.jobs) >= 2)
        assert [(event.job, event.change) for event in ear.jobs[:2]] == [("a", "started"), ("b", "started")]
        assert ear.jobs[0].gpus == tuple(UUIDS[:4])
        jobs.write_text("{not json")
        await until(lambda: "jobs file refused" in (tmp_path / "telemetry.log").read_text())
        assert len(ear.jobs) == 2

        write_jobs(jobs, job("a", *UUIDS[:2]))

        await until(lambda: len(ear.jobs) >= 4)
        assert {(event.job, event.change) for event in ear.jobs[2:4]} == {("a", "changed"), ("b", "ended")}
        await until(lambda: any(event.change == "running" for event in ear.jobs))


async def test_phase_marks_from_the_local_socket_are_forwarded_and_nonsense_is_dropped(nats, tmp_path):
    path = tmp_path / "phase.sock"

    async with running(nats, tmp_path, phase_socket=str(path)) as (_, ear, process):
        await until(path.exists)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as program:
            program.connect(str(path))
            program.send(b"\x93nonsense")
            program.send(msgspec.msgpack.encode({"job": "a", "phase": "coffee", "begins": True}))
            program.send(
                msgspec.msgpack.encode(
                    {"job": "a", "phase": "checkpoint", "begins": True, "expected_s": 30.0}
                )
            )
        await until(lambda: ear.phases)

        (mark,) = ear.phases
        assert (mark.node, mark.job, mark.phase, mark.expected_s) == ("n1", "a", "checkpoint", 30.0)
        assert process.poll() is None


async def test_a_job_on_a_partition_is_told_with_its_board_from_the_first_word_on(nats, tmp_path):
    jobs = tmp_path / "jobs.json"

    def part(node):
        node.state.gpus["capabilities"][0] |= 16
        node.state.gpus["mig_count"][0] = 3
        write_jobs(jobs, job("a", partition_of_board_0(node)))
        node.state.gpus["fault_delay_us"] = 20_000  # so asking every board for its names takes a while

    async with running(nats, tmp_path, part, jobs_file=str(jobs)) as (_, ear, _process):
        await until(lambda: ear.jobs)

    assert [(event.change, event.gpus) for event in ear.jobs] == [("started", (UUIDS[0],))]


def partition_of_board_0(node) -> str:
    ask = (
        "from pynvml import *; nvmlInit(); board = nvmlDeviceGetHandleByIndex(0); "
        "print(nvmlDeviceGetUUID(nvmlDeviceGetMigDeviceHandleByIndex(board, 1)))"
    )
    told = subprocess.run(
        [sys.executable, "-c", ask], env=node.environment(), capture_output=True, text=True, check=True
    )
    return told.stdout.strip()


async def test_partitions_are_the_board_that_they_are_parts_of(nats, tmp_path):
    def part(node):
        node.state.gpus["capabilities"][0] |= 16
        node.state.gpus["mig_count"][0] = 3

    jobs = tmp_path / "jobs.json"
    write_jobs(jobs)

    async with running(nats, tmp_path, part, jobs_file=str(jobs)) as (_, ear, _process):
        await until(lambda: len(ear.frames) >= 5)

    assert ear.frames[0].gpus.split(",") == UUIDS
    assert ear.frames[-1].gpu_count == 8
