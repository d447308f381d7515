"""Two sources of jobs as one: what the file says goes before what containers show."""

from easyrider_telemetry.core.container_jobs import merged
from easyrider_telemetry.core.job_watch import Job, JobSource


class BothJobs:
    """A `JobSource`. A file that is refused leaves its last good jobs in force, and containers go on."""

    def __init__(self, file: JobSource, containers: JobSource) -> None:
        self._file, self._containers = file, containers
        self._of_file: list[Job] = []
        self._of_containers: list[Job] = []
        self._news = False

    def now(self) -> list[Job] | None:
        """The jobs, or None where neither has news. Raises what the file raises."""
        if (found := self._containers.now()) is not None:
            self._of_containers, self._news = found, True
        if (told := self._file.now()) is not None:
            self._of_file, self._news = told, True
        if not self._news:
            return None
        self._news = False
        return merged(self._of_file, self._of_containers)
