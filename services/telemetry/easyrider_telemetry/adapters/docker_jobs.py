"""Jobs from containers: compute processes of each board, their cgroups, and the labels that the Docker engine holds.

Everything slow happens in a thread of its own: a process list holds the driver's lock for milliseconds, and an engine
may hang. What it knew last stands meanwhile; nothing else waits for it.
"""

import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from easyrider import log, metrics
from easyrider.devices.nvml_errors import DeviceError
from easyrider.devices.processes import compute_pids
from easyrider_telemetry.adapters import docker_sdk
from easyrider_telemetry.core.cgroups import containers_of
from easyrider_telemetry.core.container_jobs import Container, jobs_in
from easyrider_telemetry.core.job_watch import Job

_LOG = log.get("telemetry")
_SILENT = metrics.gauge("telemetry_docker_silent_ratio", "1 while the Docker engine does not answer")
_LOG_EVERY_S = 60.0
DEADLINE_S = 2.0
KNOWN_FOR_S = 300.0
"""Labels do not change in the life of a container, but it may be started anew under its id."""


class DockerJobs:
    """A `JobSource`. `uuids` gives the boards known by now; `prefix` is what the labels' names begin with."""

    def __init__(
        self,
        address: str,
        uuids: Callable[[], list[str]],
        *,
        prefix: str,
        every_s: float,
        proc: Path = Path("/proc"),
        pids_of: Callable[[str], tuple[int, ...]] = compute_pids,
    ) -> None:
        self._address, self._uuids, self._prefix, self._every_s = address, uuids, prefix, every_s
        self._proc, self._pids_of = proc, pids_of
        self._client: Any = None
        self._known: dict[
            str, tuple[float, Container | None]
        ] = {}  # None: the engine knows no such container
        self._pids: dict[str, tuple[int, ...]] = {}
        self._jobs: list[Job] = []
        self._news = False
        self._lock = threading.Lock()
        self._stopping = threading.Event()

    def start(self) -> None:
        """Begin to look; the thread does not keep the process."""
        threading.Thread(target=self._run, name="docker-jobs", daemon=True).start()

    def stop(self) -> None:
        """No further look."""
        self._stopping.set()

    def now(self) -> list[Job] | None:
        """The jobs, or None where nothing changed since last asked. Never waits for driver or engine."""
        with self._lock:
            news, self._news = self._news, False
            return list(self._jobs) if news else None

    def _run(self) -> None:
        while not self._stopping.is_set():
            began_s = time.monotonic()
            self.look(began_s)
            self._stopping.wait(max(0.5, began_s + self._every_s - time.monotonic()))
        if self._client is not None:
            self._client.close()

    def look(self, now_s: float) -> None:
        """One look at everything, in the thread of the caller."""
        boards = {uuid: self._processes(uuid) for uuid in self._uuids()}
        pids = {pid for found in boards.values() for pid in found}
        container_of = {pid: found for pid in pids if (found := self._container(pid, now_s)) is not None}
        self._forget(now_s)
        jobs = jobs_in(boards, container_of, self._prefix)
        with self._lock:
            self._news |= jobs != self._jobs
            self._jobs = jobs

    def _processes(self, uuid: str) -> tuple[int, ...]:
        """Of a board that does not answer: what it said last. One board at a time, with room for others between."""
        try:
            self._pids[uuid] = self._pids_of(uuid)
        except DeviceError as fault:
            log.bounded(_LOG, f"processes {uuid}", _LOG_EVERY_S).warning("no process list", fault=str(fault))
        self._stopping.wait(0.02)
        return self._pids.get(uuid, ())

    def _container(self, pid: int, now_s: float) -> Container | None:
        try:
            text = (self._proc / str(pid) / "cgroup").read_text()
        except OSError:
            return None  # it ended, or the agent does not see the host's processes
        unanswered: Container | None = None
        for container_id in containers_of(text):
            at_s, known = self._known.get(container_id, (-1e18, None))
            if now_s - at_s < KNOWN_FOR_S:
                if known is not None:
                    return known
                continue
            try:
                found = self._ask(container_id)
            except OSError as fault:
                self._silent(fault)
                # A board in use counts as in use all the same; the labels come when the engine answers.
                unanswered = unanswered or known or Container(id=container_id)
                continue
            _SILENT.set(0)
            self._known[container_id] = (now_s, found)
            if found is not None:
                return found
        return unanswered

    def _ask(self, container_id: str) -> Container | None:
        """What the engine holds of a container; None: it knows none of that id. Raises `OSError`: no answer."""
        docker = docker_sdk.load()  # not before: an agent that is not asked for labels shall not carry it
        try:
            if self._client is None:
                self._client = docker.DockerClient(base_url=self._address, timeout=DEADLINE_S, version="auto")
            told = self._client.api.inspect_container(container_id)
        except docker.errors.NotFound:
            return None
        except (
            docker.errors.DockerException,
            ValueError,
        ) as fault:  # it refuses, speaks no JSON, or is nowhere
            raise OSError(str(fault)) from fault
        state, config = _part(told, "State"), _part(told, "Config")
        return Container(
            id=container_id,
            labels={str(k): str(v) for k, v in _part(config, "Labels").items()},
            image=str(config.get("Image") or ""),
            started=_unix_s(str(state.get("StartedAt", ""))),
        )

    def _silent(self, fault: OSError) -> None:
        _SILENT.set(1)
        log.bounded(_LOG, "docker", _LOG_EVERY_S).warning(
            "the Docker engine does not answer; jobs known stay, others go without labels", fault=str(fault)
        )

    def _forget(self, now_s: float) -> None:
        gone = [key for key, (at_s, _) in self._known.items() if now_s - at_s > 2 * KNOWN_FOR_S]
        for key in gone:
            del self._known[key]


def _part(told: object, name: str) -> Mapping[str, Any]:
    found = told.get(name) if isinstance(told, dict) else None
    return found if isinstance(found, dict) else {}


def _unix_s(text: str) -> float:
    """Unix s of an engine's time stamp, which has nine digits behind the point; 0 where there is none."""
    head, point, tail = text.partition(".")
    try:
        moment = datetime.fromisoformat(f"{head}{point}{tail[:6]}+00:00" if point else text)
        return max(0.0, moment.timestamp())
    except ValueError:
        return 0.0
