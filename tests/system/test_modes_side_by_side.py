"""One domain, three modes: a node that is looked at only, a piloted one, and one under full control."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from live_bus import Ear, ear
from live_site import (
    LEAN,
    MAX_W,
    MIN_W,
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
from easyrider.messages import JobPlan, Plan, SetLimits
from easyrider_cli.site import rules_of
from easyrider_cli.stack import TREE
from easyrider_twin.world import Domain, Job, World

pytestmark = [pytest.mark.system, pytest.mark.slow]

MODES = {"node-1": "pilot", "node-2": "enforce", "node-3": "observe"}
NATURAL_W = 0.98 * MAX_W
"""What a board of these jobs draws when nobody limits it."""
PILOT_SHARE = 0.90
SENSOR_SHARE = 0.02
"""What gain errors of the boards' sensors move a peak by."""
SLOPE, UNLIMITED = 1.23, 2
WATCH_S = 5.0


def world() -> World:
    """Six boards under a PDU: room for the uncontrolled at their maximum, the piloted at its floor, little more."""
    jobs = tuple(
        Job(
            id=mode,
            type_key=mode,
            gpus={node: (0, 1)},
            program=training(7, plateau_ratio=0.98, communication_share=0.0, period_jitter=0.0),
        )
        for node, mode in MODES.items()
    )
    plain = small_world(nodes=3, jobs=jobs)
    pdu_w = 50.0 + 600.0 + SLOPE * (UNLIMITED * MAX_W + 2 * PILOT_SHARE * MAX_W + 2 * 330.0)

    def sized(domain: Domain) -> Domain:
        limit_w = pdu_w if domain.id == "pdu" else 1.3 * pdu_w
        return msgspec.structs.replace(domain, rating_w=limit_w, hard_limit_w=limit_w, target_w=limit_w)

    return msgspec.structs.replace(plain, domains=tuple(sized(domain) for domain in plain.domains))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    place = world()
    declared_w = UNLIMITED * MAX_W * SLOPE  # there is no meter: the operator says what nobody limits
    rules = {
        "domains": [
            domain | ({"unmanaged_max_w": declared_w} if domain["id"] == "pdu" else {})
            for domain in rules_of(place, tree=TREE, mode="enforce")["domains"]
        ],
        "modes": [
            {"selector": {"node": [node]}, "mode": mode, "reason": "test", "since": ""}
            for node, mode in MODES.items()
        ],
        "pacing": {"cooldown_s": 2.0},
        "leases": QUICK_LEASES,
    }
    with site_up(Path(tmp_path_factory.mktemp("m")), place, without=LEAN, rules=rules) as running:
        start_jobs(running, verified=False)  # no domain is closed: no sum of this site is proved
        yield running


@pytest.fixture(scope="module")
def bus(site: Site) -> Iterator[Ear]:
    with ear(site.stack.servers, subjects.every("plan"), subjects.every("command")) as heard:
        yield heard


def last_plan(bus: Ear) -> Plan:
    plan: Plan = until(lambda: bus.of(Plan), 5, "a plan")[-1].message
    return plan


def planned_for(bus: Ear, mode: str) -> JobPlan | None:
    return next((job for job in last_plan(bus).jobs if job.job == mode), None)


def test_a_piloted_job_loses_a_tenth_of_its_peak_at_most_and_the_rest_is_taken_elsewhere(
    site: Site, bus: Ear
):
    floor_w = PILOT_SHARE * NATURAL_W * (1 - SENSOR_SHARE)

    until(lambda: min(site.limits_w()["node-1"]) >= floor_w, 30, "the piloted job at its floor or above")
    until(lambda: min(site.limits_w()["node-2"]) > MIN_W, 10, "the other under a limit of its own")
    # paced moves of the other node go on; the piloted one may not pay for them
    holds(lambda: min(site.limits_w()["node-1"]) >= floor_w, WATCH_S, "the floor of the piloted job")

    piloted, enforced = planned_for(bus, "pilot"), planned_for(bus, "enforce")
    limits_w = site.limits_w()
    assert piloted is not None
    assert enforced is not None
    assert (piloted.mode, enforced.mode) == ("pilot", "enforce")
    assert max(limits_w["node-1"]) < NATURAL_W, "it is limited"
    assert max(limits_w["node-2"]) < (1 - 0.20) * PILOT_SHARE * NATURAL_W, "the other pays for both"
    assert enforced.slowdown > piloted.slowdown
    site.clean_so_far()


def test_the_node_that_is_looked_at_gets_no_write_and_opens_its_domains(site: Site, bus: Ear):
    plan = last_plan(bus)
    open_domains = {each.domain: each for each in plan.domains}
    asked = [limit for each in bus.of(SetLimits, node="node-3") for limit in each.message.limits]

    assert int(site.boards("node-3").header["ring_head"]) == 0
    assert site.limits_w()["node-3"] == [MAX_W] * UNLIMITED
    assert site.guardian_writes("node-3") == []
    assert not (site.folder.state("guardian-node-3") / "baseline.json").exists(), "never armed"
    assert [limit.limit_w for limit in asked if limit.limit_w is not None] == []
    for domain in ("pdu", "ups"):
        assert not open_domains[domain].closed
        assert open_domains[domain].uncontrolled_gpus == UNLIMITED
        assert open_domains[domain].unmanaged_w >= UNLIMITED * NATURAL_W * SLOPE
        assert open_domains[domain].missing_w == 0.0
    assert {job.job: job.mode for job in plan.jobs} == {mode: mode for mode in MODES.values()}


def test_the_referee_finds_every_sum_held_though_none_is_proved(site: Site):
    word = site.judged_clean()

    assert word["limits_changed"] > 0
