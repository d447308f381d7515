"""Jobs out of containers: which boards their processes hold, and what their labels say they are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from easyrider_telemetry.core.job_watch import Job

LONGEST = 256
SHORT_ID = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """What the engine knows of a container; `started` in Unix s. No labels where it did not answer."""

    id: str
    labels: Mapping[str, str] = field(default_factory=dict)
    image: str = ""
    started: float = 0.0


def jobs_in(
    boards: Mapping[str, Iterable[int]], container_of: Mapping[int, Container], prefix: str
) -> list[Job]:
    """Jobs on these boards, by id. `boards`: UUID to process ids; `container_of`: process id to its container.

    A job is named by the label `<prefix>job`; containers of one name are one job, which began with the first of them.
    One without that label is a job of its own: a board in use that belongs to nobody would be held at its minimum.
    Processes in no container belong to no job.
    """
    held: dict[str, dict[str, None]] = {}
    containers: dict[str, dict[str, Container]] = {}
    for uuid, pids in boards.items():
        for pid in pids:
            container = container_of.get(pid)
            if container is None:
                continue
            name = _label(container, prefix + "job") or f"container-{container.id[:SHORT_ID]}"
            held.setdefault(name, {})[uuid] = None
            containers.setdefault(name, {})[container.id] = container
    return [_job(name, tuple(held[name]), list(containers[name].values()), prefix) for name in sorted(held)]


def merged(first: Iterable[Job], second: Iterable[Job]) -> list[Job]:
    """Jobs of both; where both claim a name or a board, the first has it."""
    told = list(first)
    names, boards = {job.id for job in told}, {uuid for job in told for uuid in job.gpu_uuids}
    for job in second:
        left = tuple(uuid for uuid in job.gpu_uuids if uuid not in boards)
        if job.id not in names and left:
            told.append(
                Job(
                    id=job.id,
                    type_key=job.type_key,
                    image=job.image,
                    configuration=job.configuration,
                    priority_class=job.priority_class,
                    tenant=job.tenant,
                    queue=job.queue,
                    gpu_uuids=left,
                    started=job.started,
                )
            )
    return told


def _job(name: str, uuids: tuple[str, ...], containers: list[Container], prefix: str) -> Job:
    oldest = min(containers, key=lambda container: (container.started, container.id))
    return Job(
        id=name,
        type_key=_label(oldest, prefix + "type"),
        image=_clean(oldest.image),
        configuration=_label(oldest, prefix + "configuration"),
        priority_class=_label(oldest, prefix + "priority") or "normal",
        tenant=_label(oldest, prefix + "tenant"),
        queue=_label(oldest, prefix + "queue"),
        gpu_uuids=tuple(sorted(uuids)),
        started=oldest.started,
    )


def _label(container: Container, name: str) -> str:
    """As it is, but for characters nobody can see: it ends on terminals."""
    return _clean(container.labels.get(name, ""))


def _clean(told: str) -> str:
    text = told.strip()[:LONGEST]
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)
