"""What would have been different: plans as recorded beside plans as replayed, over the time in which both led."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from easyrider.messages import DomainPlan, JobPlan, Plan
from easyrider_cli.replay_engine import Told

STANDS_S = 3.0
"""A plan holds until the next one, and no longer than this."""
NEAR_SHARE = 0.02
"""Limits that differ by less are called the same."""
Plans = Sequence[tuple[float, Plan]]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSide:
    """One job on one side. Lost work: expected slowdown by the planner's curves x boards x time."""

    mean_limit_w: float | None  # a board
    mean_slowdown: float | None
    lost_gpu_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDifference:
    """One job on both sides."""

    job: str
    gpu_count: int
    recorded: JobSide
    replayed: JobSide


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainSide:
    """One domain on one side; above its target, and infeasible, in seconds."""

    mean_target_w: float | None
    highest_w: float | None
    above_target_s: float
    infeasible_s: float
    highest_missing_w: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainDifference:
    """One domain on both sides."""

    domain: str
    recorded: DomainSide
    replayed: DomainSide


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that is shown. Times in seconds since the first record."""

    rules: str
    began: str
    length_s: float
    compared_from_s: float
    messages: int
    malformed: int
    dropped: int
    damage: list[str]
    commands: int
    decisions_sha256: str
    boards_compared: int
    mean_limit_difference_w: float | None
    largest_limit_difference_w: float | None
    near_share: float | None  # of board-seconds whose limits differ by less than 2 %
    lost_gpu_s_recorded: float
    lost_gpu_s_replayed: float
    jobs: list[JobDifference]
    domains: list[DomainDifference]

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)


def compare(told: Told, *, rules: str, dropped: int, damage: list[str]) -> Report:
    """The report on one replay."""
    begin_s = told.leading_s or 0.0
    recorded = [(at_s, plan) for at_s, plan in told.recorded if at_s >= begin_s]
    replayed = [(at_s, plan) for at_s, plan in told.replayed if at_s >= begin_s]
    differences, boards = _differences(told, begin_s)
    jobs = _jobs(told, recorded, replayed)
    return Report(
        rules=rules,
        began=datetime.fromtimestamp(told.began_unix_ns / 1e9, UTC).isoformat(timespec="seconds"),
        length_s=round(told.length_s, 3),
        compared_from_s=round(begin_s, 3),
        messages=told.messages,
        malformed=told.malformed,
        dropped=dropped,
        damage=damage,
        commands=told.commands,
        decisions_sha256=told.decisions_sha256,
        boards_compared=boards,
        mean_limit_difference_w=_mean([abs(watts) for watts, _share in differences]),
        largest_limit_difference_w=max((abs(watts) for watts, _share in differences), default=None),
        near_share=_mean([float(share < NEAR_SHARE) for _watts, share in differences]),
        lost_gpu_s_recorded=sum(job.recorded.lost_gpu_s for job in jobs),
        lost_gpu_s_replayed=sum(job.replayed.lost_gpu_s for job in jobs),
        jobs=jobs,
        domains=_domains(recorded, replayed),
    )


def _differences(told: Told, begin_s: float) -> tuple[list[tuple[float, float]], int]:
    """Replayed less recorded limit of each board at each second, W and as a share; how many boards."""
    found, boards = [], set()
    for at_s, limits_w in told.limits_w:
        if at_s < begin_s:
            continue
        for uuid, (recorded_w, replayed_w) in limits_w.items():
            boards.add(uuid)
            found.append((replayed_w - recorded_w, abs(replayed_w - recorded_w) / max(recorded_w, 1.0)))
    return found, len(boards)


def _jobs(told: Told, recorded: Plans, replayed: Plans) -> list[JobDifference]:
    names = sorted({job.job for side in (recorded, replayed) for _at, plan in side for job in plan.jobs})
    counts = {job.job: job.gpu_count for _at, plan in (*recorded, *replayed) for job in plan.jobs}
    return [
        JobDifference(
            job=name,
            gpu_count=counts[name],
            recorded=_job_side(recorded, told.length_s, name),
            replayed=_job_side(replayed, told.length_s, name),
        )
        for name in names
    ]


def _job_side(plans: Plans, end_s: float, name: str) -> JobSide:
    told: list[tuple[float, JobPlan]] = list(
        _spans(plans, end_s, lambda plan: next((job for job in plan.jobs if job.job == name), None))
    )
    return JobSide(
        mean_limit_w=_weighted([(span_s, job.limit_w) for span_s, job in told]),
        mean_slowdown=_weighted([(span_s, job.slowdown) for span_s, job in told]),
        lost_gpu_s=round(sum(span_s * job.slowdown * job.gpu_count for span_s, job in told), 3),
    )


def _domains(recorded: Plans, replayed: Plans) -> list[DomainDifference]:
    names = list(dict.fromkeys(d.domain for _at, plan in (*replayed, *recorded) for d in plan.domains))
    end_s = max((at_s for at_s, _plan in (*recorded, *replayed)), default=0.0)
    return [
        DomainDifference(
            domain=name,
            recorded=_domain_side(recorded, end_s, name),
            replayed=_domain_side(replayed, end_s, name),
        )
        for name in names
    ]


def _domain_side(plans: Plans, end_s: float, name: str) -> DomainSide:
    told: list[tuple[float, DomainPlan]] = list(
        _spans(plans, end_s, lambda plan: next((d for d in plan.domains if d.domain == name), None))
    )
    seen_w = [domain.observed_w for _span, domain in told if domain.observed_w is not None]
    above_s = sum(span for span, d in told if d.observed_w is not None and d.observed_w > d.target_w)
    return DomainSide(
        mean_target_w=_weighted([(span_s, domain.target_w) for span_s, domain in told]),
        highest_w=max(seen_w, default=None),
        above_target_s=round(above_s, 3),
        infeasible_s=round(sum(span_s for span_s, domain in told if domain.missing_w > 0), 3),
        highest_missing_w=max((domain.missing_w for _span, domain in told), default=0.0),
    )


def _spans(plans: Plans, end_s: float, part: Callable[[Plan], T | None]) -> Iterator[tuple[float, T]]:
    """For how long each plan stood, with the part of it that is asked about."""
    if not plans:
        return
    ends = [at_s for at_s, _plan in plans[1:]] + [end_s]
    for (at_s, plan), next_s in zip(plans, ends, strict=True):
        if (found := part(plan)) is not None:
            yield min(max(0.0, next_s - at_s), STANDS_S), found


def _weighted(spans: list[tuple[float, float]]) -> float | None:
    total_s = sum(span_s for span_s, _value in spans)
    return sum(span_s * value for span_s, value in spans) / total_s if total_s > 0 else None


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
