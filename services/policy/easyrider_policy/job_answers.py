"""Jobs as their owners ask for them: capped by how much, why, at what cost. Made of whole columns, for speed."""

from collections.abc import Iterator, Sequence

import numpy as np

from easyrider_policy.coordinator import Coordinator
from easyrider_policy.core.fleet import Fleet, Floats
from easyrider_policy.core.jobbook import Entry
from easyrider_policy.core.layout import Job
from easyrider_policy.core.records import Decision
from easyrider_policy.live import LiveJob, W
from easyrider_policy.telling import limits_w, why

GPUS_NAMED = 3_000
"""On a larger site a list of jobs names no GPUs; who asks for one job is told its own."""
_NOBODY = Entry("", "", "", "", 0.0, {})


def jobs(coordinator: Coordinator, rows: Sequence[int], *, named: bool) -> Iterator[LiveJob]:
    """These jobs by row of the layout, in whole columns; `named`: with their GPUs and nodes."""
    picture, looked = coordinator.picture, coordinator.looked
    seen, fleet = picture.observation, picture.fleet
    every, decision = seen.layout.jobs, _fitting(coordinator)
    waiting = {} if looked is None else {one.gpu: one for one in looked.orders.waiting}
    unknown = np.full(len(every), np.nan)
    limit_w, demand_w, slowdown = unknown, unknown, unknown
    if decision is not None:
        limit_w, demand_w = limits_w(picture, decision), decision.demand_w
        slowdown = np.clip(decision.slowdown, 0.0, 1.0)
    at = np.array(rows, dtype=np.int64)
    columns = (
        column(seen.draw_w[at], 1),
        column(limit_w[at], 1),
        column(demand_w[at], 1),
        column(np.maximum(0.0, demand_w - limit_w)[at], 1),
        column(slowdown[at], 4),
        column(seen.busy.share[at], 4),
        column(seen.duty.duty[at], 4),
    )
    stalled: list[bool] = seen.stalls.stalled[at].tolist()
    for place, row in enumerate(rows):
        job: Job = every[row]
        entry = picture.jobs.entries.get(job.id, _NOBODY)
        draw, limit, demand, capped, slow, busy, duty = (column[place] for column in columns)
        waits = [waiting[gpu] for gpu in job.gpus if gpu in waiting] if waiting else []
        yield LiveJob(
            job.id,
            entry.tenant,
            entry.queue,
            entry.priority_class,
            entry.type_key,
            job.mode,
            len(job.gpus),
            tuple(fleet.gpus[gpu] for gpu in job.gpus) if named else (),
            _nodes(fleet, job) if named else (),
            draw,
            limit,
            demand,
            capped,
            slow,
            "unplanned" if decision is None else why(picture, decision, row),
            stalled[place],
            busy,
            duty,
            max((max(0.0, one.watts) for one in waits), default=0.0),
            waits[0].why if waits else "",
        )


def known(value: float) -> W:
    """The number to four places; None where it is not known."""
    return round(float(value), 4) if np.isfinite(value) else None


def _fitting(coordinator: Coordinator) -> Decision | None:
    """The decision, unless jobs came or went since; the next one is due within a period."""
    decision = coordinator.decision
    count = coordinator.picture.observation.layout.job_count
    return None if decision is None or len(decision.reasons) != count else decision


def column(values: Floats, places: int = 1) -> list[float]:
    """Plain numbers; NaN, which JSON tells as null, where nothing is known."""
    plain: list[float] = np.round(values, places).tolist()
    return plain


def _nodes(fleet: Fleet, job: Job) -> tuple[str, ...]:
    return tuple(fleet.nodes[row] for row in dict.fromkeys(fleet.gpu_node[list(job.gpus)].tolist()))
