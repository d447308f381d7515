"""A plan of a large site still fits into a message."""

from dataclasses import replace

import numpy as np
from wired_site import Wired, rules

from easyrider import wire
from easyrider_policy.core.commands import Orders
from easyrider_policy.job_answers import jobs
from easyrider_policy.telling import MOST_JOBS, limits_w, tell


async def test_of_more_jobs_than_fit_those_slowed_most_are_told() -> None:
    wired = Wired()
    wired.starts("job-a", "a")
    await wired.seconds(3)
    picture, decision = wired.picture, wired.coordinator.decision
    assert decision is not None
    (job,) = picture.observation.layout.jobs
    count = MOST_JOBS + 3_000
    ids = [f"team-{row}-of-some-length/training-run-{row}" for row in range(count)]
    crowd = tuple(replace(job, id=name) for name in ids)
    columns = ("job_limit_w", "demand_w", "slowdown", "stalled")
    grown = {name: np.resize(getattr(decision, name), count) for name in columns}
    slowdown = np.linspace(0.0, 0.5, count)
    picture.observation.layout = replace(picture.observation.layout, jobs=crowd)
    look = wired.coordinator.picture.safety.sums(
        wired.now_s, picture.managed, picture.hard_w, picture.meters.estimates(wired.now_s)
    )

    plan = tell(
        picture,
        replace(decision, **{**grown, "slowdown": slowdown, "reasons": ("target:pdu",) * count}),
        look,
        Orders(),
        seq=1,
        cause="tick",
        plan_ms=1.0,
        now_s=wired.now_s,
        clocks_ns=(0, 0),
    )

    assert len(wire.encode(plan)) < 900 * 1024
    assert len(plan.jobs) == MOST_JOBS
    assert min(told.slowdown for told in plan.jobs) >= slowdown[-MOST_JOBS] - 1e-9


async def test_the_limit_of_a_job_in_observe_is_the_least_that_its_boards_enforce() -> None:
    wired = Wired(rules(mode="observe"))
    wired.starts("job-a", "a")
    wired.boxes["a"].limit_w = [409.5, 450.0]
    await wired.seconds(4)
    decision = wired.coordinator.decision
    assert decision is not None
    assert decision.reasons == ("not_ours",)

    told_w = limits_w(wired.picture, decision)

    assert told_w.tolist() == [409.5]
    assert [job.limit_w for job in jobs(wired.coordinator, [0], named=True)] == [409.5]
