"""What a list of jobs cannot mean as it stands, told to people; the jobs are taken all the same."""

from collections.abc import Iterable, Set

from easyrider_telemetry.core.job_watch import Job

TOLD = 5


def doubts(jobs: Iterable[Job], known: Set[str]) -> list[str]:
    """One sentence for each job that names a board twice, one nobody knows, or one that another job has already.

    `known`: UUIDs of boards and of their partitions. A board that is unknown belongs to nobody, so it is held at its
    minimum; one with two jobs counts for the first.
    """
    found: list[str] = []
    holder: dict[str, str] = {}
    for job in jobs:
        unknown = [uuid for uuid in dict.fromkeys(job.gpu_uuids) if uuid not in known]
        if unknown:
            found.append(f"job {job.id}: no board here is called {_some(unknown, 'nor')}")
        twice = [uuid for uuid in dict.fromkeys(job.gpu_uuids) if job.gpu_uuids.count(uuid) > 1]
        if twice:
            found.append(
                f"job {job.id}: {_some(twice, 'and')} {'stands' if len(twice) == 1 else 'stand'} twice"
            )
        for uuid in dict.fromkeys(job.gpu_uuids):
            other = holder.setdefault(uuid, job.id)
            if other != job.id:
                found.append(f"job {job.id}: {uuid} belongs to job {other} already")
    return found


def summary(found: list[str]) -> str | None:
    """All of them in one line, the first few in full; None where there is none."""
    if not found:
        return None
    more = f"; and {len(found) - TOLD} more" if len(found) > TOLD else ""
    return "; ".join(found[:TOLD]) + more


def _some(uuids: list[str], joined: str) -> str:
    more = f" {joined} {len(uuids) - 2} more" if len(uuids) > 2 else ""
    return ", ".join(uuids[:2]) + more
