"""Jobs as their owners ask for them: capped by how much, why, at what cost."""

from collections.abc import Sequence

import numpy as np

from easyrider_policy.coordinator import Coordinator
from easyrider_policy.core.jobbook import Entry
from easyrider_policy.core.layout import Job
from easyrider_policy.core.records import Decision
from easyrider_policy.core.waiting import Waiting
from easyrider_policy.live import LiveJob, W
from easyrider_policy.telling import why


def jobs(coordinator: Coordinator, only: str = "") -> list[LiveJob]:
    """Every job, or the one named if it is there."""
    layout = coordinator.picture.observation.layout
    looked, decision = coordinator.looked, coordinator.decision
    if decision is not None and len(decision.reasons) != layout.job_count:
        decision = None  # made before jobs came or went; the next one is due within a period
    waiting = {} if looked is None else {w.gpu: w for w in looked.orders.waiting}
    rows = [row for row, job in enumerate(layout.jobs) if not only or job.id == only]
    return [_job(coordinator, decision, waiting, row) for row in rows]


def _job(
    coordinator: Coordinator, decision: Decision | None, waiting: dict[int, Waiting], row: int
) -> LiveJob:
    picture = coordinator.picture
    seen, fleet = picture.observation, picture.fleet
    job: Job = seen.layout.jobs[row]
    entry = picture.jobs.entries.get(job.id) or Entry("", "", "", "", 0.0, {})
    limit_w = demand_w = slowdown = None
    reason = "unplanned"
    if decision is not None:
        limit_w, demand_w = known(decision.job_limit_w[row]), known(decision.demand_w[row])
        slowdown, reason = known(decision.slowdown[row]), why(picture, decision, row)
    waits = [waiting[gpu] for gpu in job.gpus if gpu in waiting]
    return LiveJob(
        job=job.id,
        tenant=entry.tenant,
        queue=entry.queue,
        priority_class=entry.priority_class,
        type_key=entry.type_key,
        mode=job.mode,
        gpu_count=len(job.gpus),
        gpus=tuple(fleet.gpus[gpu] for gpu in job.gpus),
        nodes=_nodes(fleet.nodes, fleet.gpu_node[list(job.gpus)].tolist()),
        draw_w=known(seen.draw_w[row]),
        limit_w=limit_w,
        demand_w=demand_w,
        capped_by_w=None if limit_w is None or demand_w is None else max(0.0, round(demand_w - limit_w, 1)),
        slowdown=None if slowdown is None else min(1.0, max(0.0, slowdown)),
        reason=reason,
        stalled=bool(seen.stalls.stalled[row]),
        busy_ratio=known(seen.busy.share[row]),
        waiting_w=max((max(0.0, one.watts) for one in waits), default=0.0),
        waiting_for=waits[0].why if waits else "",
    )


def _nodes(names: Sequence[str], rows: list[int]) -> tuple[str, ...]:
    return tuple(names[row] for row in dict.fromkeys(rows))


def known(value: float) -> W:
    """The number to the tenth of a watt (or a thousandth of a share); None where it is not known."""
    return round(float(value), 4) if np.isfinite(value) else None
