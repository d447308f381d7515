"""Modes that only look: `shadow` and `observe` write nothing, and shadow still tells what it would do."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from live_bus import ear
from live_site import (
    LEAN,
    MAX_W,
    QUICK_LEASES,
    Site,
    holds,
    site_up,
    small_world,
    start_jobs,
    training,
    until,
)

from easyrider import subjects
from easyrider.messages import Plan, SetLimits
from easyrider_twin.world import Job

pytestmark = [pytest.mark.system, pytest.mark.slow]

WATCH_S = 6.0
"""After the lead is taken and a take-over's wait is over, so long."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    jobs = (
        Job(id="seen", type_key="seen", gpus={"node-1": (0, 1)}, program=training(5)),
        Job(id="shadowed", type_key="shadowed", gpus={"node-2": (0, 1)}, program=training(6)),
    )
    modes = [
        {"selector": {"node": ["node-1"]}, "mode": "observe", "reason": "test", "since": ""},
        {"selector": {"node": ["node-2"]}, "mode": "shadow", "reason": "test", "since": ""},
    ]
    world = small_world(jobs=jobs)
    with site_up(
        Path(tmp_path_factory.mktemp("s")),
        world,
        without=LEAN,
        rules={"modes": modes, "leases": QUICK_LEASES},
    ) as running:
        start_jobs(running, verified=False)
        yield running


def test_nothing_is_written_while_shadow_tells_what_it_would_do(site: Site):
    with ear(site.stack.servers, subjects.every("plan"), subjects.every("command")) as bus:

        def shadowed() -> list[Plan]:
            told = [each.message for each in bus.of(Plan)]
            return [
                plan for plan in told if any(j.job == "shadowed" and j.limit_w < MAX_W for j in plan.jobs)
            ]

        plan = until(shadowed, 15, "a plan that would lower the shadowed job")[-1]
        holds(lambda: site.writes() == 0, WATCH_S, "an empty ring of writes")
        written = [
            limit.limit_w
            for each in bus.of(SetLimits)
            for limit in each.message.limits
            if limit.limit_w is not None
        ]

    modes = {job.job: job.mode for job in plan.jobs}
    assert modes == {"seen": "observe", "shadowed": "shadow"}
    assert written == []
    assert site.limits_w() == {"node-1": [MAX_W] * 2, "node-2": [MAX_W] * 2}
    assert all(site.guardian_writes(node) == [] for node in ("node-1", "node-2"))
    assert not (site.folder.state("guardian-node-2") / "baseline.json").exists(), "never armed"


def test_the_referee_saw_no_write_either(site: Site):
    word = site.verdict()

    assert (word["writes"], word["limits_changed"], word["foreign_writes"]) == (0, 0, 0)
