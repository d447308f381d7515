"""Jobs of this node, told apart from what was told before."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from easyrider.messages import JobEvent

REPEAT_S = 10.0
_LONGEST = 256
Change = Literal["started", "changed", "running", "ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job and its boards on this node; `started` in Unix s."""

    id: str
    type_key: str = ""
    image: str = ""
    configuration: str = ""
    priority_class: str = "normal"
    tenant: str = ""
    queue: str = ""
    gpu_uuids: tuple[str, ...] = ()
    started: float = 0.0


class JobSource(Protocol):
    """Where jobs come from: a file, a scheduler."""

    def now(self) -> list[Job] | None:
        """The jobs of this node as of now; None where nothing newer is known than last time."""
        ...


@dataclass
class JobWatch:
    """Events out of what a source shows: started, changed, ended, and each running job again every 10 s.

    A job whose partitions turn out to be another board's than was said has changed, whatever its source shows.
    """

    region: str
    node: str
    boot_id: str
    _known: dict[str, Job] = field(default_factory=dict)
    _said_ns: dict[str, int] = field(default_factory=dict)
    _said_gpus: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def update(
        self,
        jobs: Iterable[Job] | None,
        t_ns: int,
        mono_ns: int,
        physical: Callable[[str], str],
        model: Callable[[str], str] = lambda _board: "",
    ) -> list[JobEvent]:
        """Events as of now. `jobs` None: no news, only what is due again.

        `physical` maps partitions to boards, `model` a board to what the driver calls it.
        """
        events: list[JobEvent] = []
        if jobs is not None:
            now = {job.id: job for job in jobs}
            events += [self._event(job, "ended", t_ns, mono_ns, physical, model) for job in self._gone(now)]
            for job in now.values():
                before = self._known.get(job.id)
                if before != job:
                    # The same id with another start was queued again: a new run, whose phases begin anew.
                    new = before is None or before.started != job.started
                    change: Change = "started" if new else "changed"
                    events.append(self._event(job, change, t_ns, mono_ns, physical, model))
                    self._said_ns[job.id] = mono_ns
                    self._said_gpus[job.id] = events[-1].gpus
            self._known = now
            self._said_ns = {job_id: self._said_ns[job_id] for job_id in now}
            self._said_gpus = {job_id: self._said_gpus[job_id] for job_id in now}
        for job in self._known.values():
            if (gpus := _boards(job, physical)) != self._said_gpus[job.id]:
                self._said_ns[job.id], self._said_gpus[job.id] = mono_ns, gpus
                events.append(self._event(job, "changed", t_ns, mono_ns, physical, model))
            elif mono_ns - self._said_ns[job.id] >= REPEAT_S * 1e9:
                self._said_ns[job.id] = mono_ns
                events.append(self._event(job, "running", t_ns, mono_ns, physical, model))
        return events

    def _gone(self, now: Mapping[str, Job]) -> list[Job]:
        return [job for job_id, job in self._known.items() if job_id not in now]

    def _event(
        self,
        job: Job,
        change: Change,
        t_ns: int,
        mono_ns: int,
        physical: Callable[[str], str],
        model: Callable[[str], str],
    ) -> JobEvent:
        boards = _boards(job, physical)
        return JobEvent(
            region=self.region,
            node=self.node,
            boot_id=self.boot_id,
            job=job.id,
            change=change,
            type_key=job.type_key,
            priority_class=job.priority_class,
            tenant=job.tenant,
            queue=job.queue,
            gpus=boards,
            started_ns=round(job.started * 1e9),
            t_ns=t_ns,
            mono_ns=mono_ns,
            image=job.image,
            configuration=job.configuration,
            gpu_model=_models(boards, model),
        )


def _boards(job: Job, physical: Callable[[str], str]) -> tuple[str, ...]:
    """Each board once, however many of its partitions the job holds."""
    return tuple(dict.fromkeys(map(physical, job.gpu_uuids)))


def _models(boards: tuple[str, ...], model: Callable[[str], str]) -> str:
    """What the boards are; several, where they are not of one model."""
    told = " + ".join(sorted({name for board in boards if (name := model(board))}))[:_LONGEST]
    return told if told.isprintable() else "".join(c if c.isprintable() else "?" for c in told)
