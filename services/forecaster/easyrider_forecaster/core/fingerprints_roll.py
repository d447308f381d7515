"""Which jobs run, in which row, and of what type, for the shelf of fingerprints."""

from collections.abc import Mapping

from easyrider.job_types import JobType
from easyrider.messages import JobEvent
from easyrider_forecaster.core.detector import Detector
from easyrider_forecaster.core.fingerprints import Shelf
from easyrider_forecaster.core.groups import Group, Groups
from easyrider_forecaster.core.outlook import Outlook, Rows

FRESH_S = 30.0
"""A job that had run longer when it was first heard of shows no start-up."""


class Roll:
    """The jobs that are followed, as they were the last time."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._followed: dict[str, tuple[Group, int]] = {}

    def leave(self, groups: Groups, outlook: Outlook, detector: Detector, ranges: Rows | None) -> None:
        """Jobs that ended, or began anew: call before rows are given away or cleared."""
        for job, (group, started_ns) in list(self._followed.items()):
            if groups.job(job) is not group or _started_ns(group) != started_ns:
                del self._followed[job]
                if ranges is not None and group.row < len(ranges.max_w):
                    self._shelf.end(job, outlook, detector, ranges)
                else:
                    self._shelf.drop(job)

    def enter(self, groups: Groups, told: Mapping[str, JobEvent]) -> None:
        """Jobs that run now, each with the type that it says by now; those that say nothing have none."""
        for group in groups.known.values():
            event = told.get(group.id)
            if group.kind != "job" or event is None:
                continue
            of = job_type(group, event)
            if of is None:
                continue
            self._followed[group.id] = group, _started_ns(group)
            self._shelf.track(group.id, group.row, of, fresh=event.t_ns - event.started_ns < FRESH_S * 1e9)


def job_type(group: Group, event: JobEvent) -> JobType | None:
    """The type of a job with all its GPUs; None where it says nothing of it, or has none."""
    boards = {uuid for part in group.parts.values() for uuid in part.uuids}
    if not boards:
        return None
    of = JobType(
        name=event.type_key,
        image=event.image,
        configuration=event.configuration,
        gpu_model=event.gpu_model,
        gpu_count=len(boards),
    )
    return of if of.told else None


def _started_ns(group: Group) -> int:
    return max((part.started_ns for part in group.parts.values()), default=0)
