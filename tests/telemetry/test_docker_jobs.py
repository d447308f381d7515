"""The real Docker SDK against an engine's door that we hold, and against an engine where one runs."""

import contextlib
import subprocess
import sys
import time
from pathlib import Path

import pytest
from docker_engine import Engine, engine

from easyrider.devices.nvml_errors import DeviceLost
from easyrider_telemetry.adapters import docker_jobs
from easyrider_telemetry.adapters.both_jobs import BothJobs
from easyrider_telemetry.adapters.docker_jobs import KNOWN_FOR_S, DockerJobs
from easyrider_telemetry.adapters.jobs_file import BadJobsFile, JobsFile

A, B, C = "a" * 64, "b" * 64, "c" * 64


class Node:
    """Boards with processes, and a /proc that says which container each is in."""

    def __init__(self, folder: Path, running: Engine) -> None:
        self.engine, self.proc = running, folder / "proc"
        self.pids: dict[str, tuple[int, ...]] = {}
        self.lost: set[str] = set()
        self.jobs = DockerJobs(
            running.address,
            lambda: sorted(self.pids),
            prefix="easyrider.",
            every_s=10.0,
            proc=self.proc,
            pids_of=self.of,
        )

    def of(self, uuid: str) -> tuple[int, ...]:
        if uuid in self.lost:
            raise DeviceLost(uuid, 15)
        return self.pids[uuid]

    def process(self, pid: int, uuid: str, text: str) -> None:
        place = self.proc / str(pid)
        place.mkdir(parents=True, exist_ok=True)
        (place / "cgroup").write_text(text)
        self.pids[uuid] = (*self.pids.get(uuid, ()), pid)

    def told(self, now_s: float = 0.0) -> list[tuple[str, tuple[str, ...]]] | None:
        self.jobs.look(now_s)
        found = self.jobs.now()
        return None if found is None else [(job.id, job.gpu_uuids) for job in found]


@pytest.fixture
def node(tmp_path: Path):
    with engine(tmp_path / "docker.sock") as running:
        yield Node(tmp_path, running)


def test_a_labelled_container_is_a_job_with_all_its_labels(node: Node):
    node.engine.runs(
        A, easyrider_job="llm-7", easyrider_tenant="vision", easyrider_priority="high", easyrider_queue="gpu"
    )
    node.process(11, "g0", f"0::/system.slice/docker-{A}.scope\n")
    node.process(12, "g1", f"0::/system.slice/docker-{A}.scope\n")

    node.jobs.look(0.0)
    (job,) = node.jobs.now() or []

    assert (job.id, job.tenant, job.priority_class, job.queue) == ("llm-7", "vision", "high", "gpu")
    assert job.gpu_uuids == ("g0", "g1")
    assert job.started == pytest.approx(1_767_960_000.123456)
    assert node.engine.asked == [A], "one question a container"


def test_it_is_told_once_and_again_when_it_changes(node: Node):
    node.engine.runs(A, easyrider_job="one")
    node.process(11, "g0", f"0::/docker/{A}\n")

    first, again = node.told(), node.told(1.0)
    node.pids["g0"] = ()
    ended = node.told(2.0)

    assert (first, again, ended) == ([("one", ("g0",))], None, [])


def test_of_nested_containers_the_one_that_the_engine_knows_counts(node: Node):
    node.engine.runs(A, easyrider_job="outer")
    node.process(11, "g0", f"0::/docker/{A}/docker/{B}\n")
    node.process(12, "g1", f"0::/kubepods/pod1/{C}/docker/{A}\n")

    assert node.told() == [("outer", ("g0", "g1"))]


def test_containers_that_the_engine_does_not_know_are_asked_for_once_and_are_no_jobs(node: Node):
    node.process(11, "g0", f"0::/kubepods.slice/cri-containerd-{C}.scope\n")

    assert [node.told(k) for k in (0.0, 1.0, KNOWN_FOR_S + 2.0)] == [None, None, None]
    assert node.engine.asked == [C, C]


def test_a_container_started_anew_is_seen_when_what_was_known_has_aged(node: Node):
    node.engine.runs(A, easyrider_job="one")
    node.process(11, "g0", f"0::/docker/{A}\n")
    node.told()
    node.engine.runs(A, started="2026-01-09T13:00:00Z", easyrider_job="one")

    node.jobs.look(KNOWN_FOR_S + 1.0)
    (job,) = node.jobs.now() or []

    assert job.started == pytest.approx(1_767_963_600.0)


def test_an_engine_that_hangs_delays_nobody_and_what_was_known_stands(
    node: Node, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(docker_jobs, "DEADLINE_S", 0.3)
    node.engine.runs(A, easyrider_job="one")
    node.process(11, "g0", f"0::/docker/{A}\n")
    node.told()
    node.process(12, "g1", f"0::/docker/{B}\n")
    node.engine.hangs.set()
    node.jobs.start()
    asked = len(node.engine.asked)
    while len(node.engine.asked) == asked:
        time.sleep(0.01)

    began_s = time.perf_counter()
    told = [node.jobs.now() for _ in range(1000)]
    took_s = time.perf_counter() - began_s
    node.jobs.stop()

    assert took_s < 0.25, "as long as nobody waits for the engine"
    assert told[0] is None


def test_a_container_whose_labels_nobody_tells_holds_its_board_all_the_same(
    node: Node, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(docker_jobs, "DEADLINE_S", 0.2)
    node.engine.runs(A, easyrider_job="one")
    node.process(11, "g0", f"0::/docker/{A}\n")
    node.engine.hangs.set()

    without = node.told()
    node.engine.hangs.clear()
    node.engine.goes_on.set()
    named = node.told(1.0)

    assert without == [("container-aaaaaaaaaaaa", ("g0",))]
    assert named == [("one", ("g0",))]


@pytest.mark.parametrize(
    "says", [(500, b'{"message": "no"}'), (200, b"<html>"), (200, b"[]"), (200, b'{"Config": 7}')]
)
def test_an_engine_that_talks_nonsense_ends_nothing(node: Node, says: tuple[int, bytes]):
    node.engine.says = says
    node.process(11, "g0", f"0::/docker/{A}\n")

    assert node.told() == [("container-aaaaaaaaaaaa", ("g0",))]


def test_no_engine_at_all_ends_nothing(tmp_path: Path):
    node = Node(tmp_path, Engine(tmp_path / "nobody.sock"))
    node.process(11, "g0", f"0::/docker/{A}\n")

    assert node.told() == [("container-aaaaaaaaaaaa", ("g0",))]


def test_a_board_that_does_not_answer_keeps_the_processes_it_had(node: Node):
    node.engine.runs(A, easyrider_job="one")
    node.process(11, "g0", f"0::/docker/{A}\n")
    node.told()

    node.lost.add("g0")

    assert node.told(1.0) is None


def test_a_process_that_ended_meanwhile_is_in_no_container(node: Node):
    node.pids["g0"] = (99,)

    assert node.told() is None


def test_file_and_containers_together_and_a_refused_file_stops_neither(node: Node, tmp_path: Path):
    node.engine.runs(A, easyrider_job="docker-job")
    node.process(11, "g1", f"0::/docker/{A}\n")
    file = tmp_path / "jobs.json"
    file.write_text('{"jobs": [{"id": "file-job", "gpu_uuids": ["g0"]}]}')
    both = BothJobs(JobsFile(file), node.jobs)

    node.jobs.look(0.0)
    first = both.now()
    file.write_text("{")
    node.pids["g1"] = ()
    node.jobs.look(1.0)
    with pytest.raises(BadJobsFile):
        both.now()
    second = both.now()

    assert [job.id for job in first or []] == ["file-job", "docker-job"]
    assert [job.id for job in second or []] == ["file-job"]


def test_an_agent_that_is_not_asked_for_labels_does_not_carry_the_sdk():
    heavy = "{'docker', 'requests', 'urllib3', 'numpy'}"
    script = f"import sys, easyrider_telemetry.__main__; print(sorted({heavy} & sys.modules.keys()))"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_a_real_engine_tells_the_labels_of_a_real_container():
    docker = pytest.importorskip("docker")
    try:
        client = docker.from_env(timeout=5)
        images = client.images.list()
    except (docker.errors.DockerException, OSError) as fault:
        pytest.skip(f"no Docker engine answers: {fault}")
    if not images:
        pytest.skip("the Docker engine has no image to run")
    labels = {"easyrider.job": "real", "easyrider.tenant": "vision"}
    running = None
    for image in images:
        with contextlib.suppress(docker.errors.DockerException):
            running = client.containers.run(
                image.id, ["sleep", "60"], entrypoint="", labels=labels, detach=True
            )
            break
    if running is None:
        pytest.skip("no image of the Docker engine runs `sleep`")
    try:
        pid = int(client.api.inspect_container(running.id)["State"]["Pid"])
        jobs = DockerJobs(
            client.api.base_url.replace("http+docker://localhost", "unix:///var/run/docker.sock"),
            lambda: ["g0"], prefix="easyrider.", every_s=10.0, pids_of=lambda _uuid: (pid,),
        )  # fmt: skip
        jobs.look(0.0)
        (job,) = jobs.now() or []
    finally:
        running.remove(force=True)

    assert (job.id, job.tenant, job.gpu_uuids) == ("real", "vision", ("g0",))
    assert job.started > 1.7e9
