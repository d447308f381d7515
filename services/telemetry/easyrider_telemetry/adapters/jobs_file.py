"""Jobs from one JSON file, replaced by rename: `{"jobs": [{"id", "type_key", ..., "gpu_uuids", "started"}]}`."""

import json
import math
import stat
from pathlib import Path
from typing import Any

import msgspec

from easyrider.errors import EasyRiderError
from easyrider_telemetry.core.job_watch import Job

_LARGEST = 4 * 1024 * 1024


class BadJobsFile(EasyRiderError):
    """The file could not be read; the jobs known before stay."""

    def __init__(self, path: Path, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(f"{path}: {why}; the jobs read before stay")


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    """One job as the file says it; only its id has to be there."""

    id: str
    type_key: str = ""
    image: str = ""
    configuration: str = ""
    priority_class: str = "normal"
    tenant: str = ""
    queue: str = ""
    gpu_uuids: tuple[str, ...] = ()
    started: float = 0.0


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    jobs: list[_Entry]


class JobsFile:
    """A `JobSource` over one file; looks at its time, size and inode and reads it only when they changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._mark: tuple[int, int, int] | None = None

    def now(self) -> list[Job] | None:
        """The jobs, or None while the file is the one read last. Raises `BadJobsFile`, once per file."""
        try:
            status = self.path.stat()
        except OSError as fault:
            self._mark = None  # the same file put back is news
            raise BadJobsFile(self.path, fault.strerror or "cannot be read") from fault
        mark = (status.st_mtime_ns, status.st_size, status.st_ino)
        if mark == self._mark:
            return None
        self._mark = mark
        if not stat.S_ISREG(status.st_mode):
            # a pipe would keep whoever opens it waiting, and every sample of the node with it
            raise BadJobsFile(self.path, "it is no plain file")
        if status.st_size > _LARGEST:
            raise BadJobsFile(self.path, f"{status.st_size} bytes where {_LARGEST} are allowed")
        try:
            document = json.loads(self.path.read_bytes(), object_pairs_hook=_once)
            entries = msgspec.convert(document, _Document).jobs
        except (OSError, ValueError, RecursionError) as fault:  # of msgspec, json and Unicode alike
            raise BadJobsFile(self.path, str(fault)) from fault
        jobs = [Job(**msgspec.structs.asdict(entry)) for entry in entries]
        self._refuse_nonsense(jobs)
        return jobs

    def _refuse_nonsense(self, jobs: list[Job]) -> None:
        ids = [job.id for job in jobs]
        if len(set(ids)) < len(ids):
            raise BadJobsFile(self.path, "a job id stands twice")
        for job in jobs:
            if not 0 < len(job.id) <= 256:
                raise BadJobsFile(self.path, f"job id {job.id[:40]!r} is empty or longer than 256")
            for name in ("id", "type_key", "image", "configuration", "priority_class", "tenant", "queue"):
                if not (text := getattr(job, name)).isprintable():
                    raise BadJobsFile(
                        self.path,
                        f"job {job.id[:40]!a}: {name} {text[:40]!a} holds characters nobody can see",
                    )
                if len(text) > 256:
                    raise BadJobsFile(self.path, f"job {job.id[:40]!a}: {name} is longer than 256")
            if not all(0 < len(uuid) <= 256 for uuid in job.gpu_uuids):
                raise BadJobsFile(self.path, f"job {job.id[:40]!a}: a GPU id is empty or longer than 256")
            if not (math.isfinite(job.started) and 0 <= job.started < 2**33):
                raise BadJobsFile(
                    self.path, f"job {job.id}: started {job.started} is no Unix time in seconds"
                )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {next(key for key in keys if keys.count(key) > 1)!r} stands twice in one map")
    return found
