"""What meters and job lists say arrives in the plan: an offset that was learned, a job on a slice of a board."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from live_bus import Ear, ear
from live_site import METERS, MIN_W, QUICK_LEASES, Site, site_up, small_world, start_jobs, training, until

from easyrider import subjects
from easyrider.messages import DomainPlan, JobPlan, Plan
from easyrider_cli.site import rules_of
from easyrider_cli.stack import TREE
from easyrider_twin.world import Domain, Job, World

pytestmark = [pytest.mark.system, pytest.mark.slow]

SLOPE, BOARDS = 1.23, 2
OVERHEAD_W, FIXED_W = 200.0, 50.0
DECLARED_MORE_W = 300.0
"""What the operator's upper value for the machine has too much, to be learned from the meter."""
BY_DECLARATION_W, NATURAL_W = 400.0, 560.0
"""Per board: what the target leaves by what is declared, and what the jobs would draw."""
LEARNED_W = BY_DECLARATION_W + 0.5 * DECLARED_MORE_W / SLOPE / BOARDS
"""Per board: what no plan by declaration could give to both."""
NEAR_W = 0.25 * DECLARED_MORE_W
MIG_ENABLED, SLICED = 16, 1
READ_SLICES = """
from pynvml import *
nvmlInit()
board = nvmlDeviceGetHandleByIndex(1)
print(*(nvmlDeviceGetUUID(nvmlDeviceGetMigDeviceHandleByIndex(board, k)) for k in range(2)))
print(nvmlDeviceGetUUID(nvmlDeviceGetHandleByIndex(0)))
"""


def world() -> World:
    """One machine of two boards under a steady load, and a PDU whose target binds long before its hard limit."""
    program = training(
        11, plateau_ratio=NATURAL_W / 700.0, communication_share=0.0, period_jitter=0.0, setup_s=0.5
    )
    job = Job(id="steady", type_key="steady", gpus={"node-1": (0, 1)}, program=program)
    plain = small_world(nodes=1, gpus=BOARDS, meters=METERS, jobs=(job,))
    standing_w = FIXED_W + OVERHEAD_W + DECLARED_MORE_W
    target_w, hard_w = standing_w + SLOPE * BOARDS * BY_DECLARATION_W, standing_w + SLOPE * BOARDS * 700.0

    def sized(domain: Domain) -> Domain:
        if domain.id == "pdu":
            return msgspec.structs.replace(domain, rating_w=hard_w, hard_limit_w=hard_w, target_w=target_w)
        return msgspec.structs.replace(
            domain, rating_w=2 * hard_w, hard_limit_w=2 * hard_w, target_w=2 * hard_w
        )

    return msgspec.structs.replace(plain, domains=tuple(sized(domain) for domain in plain.domains))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    place, root = world(), Path(tmp_path_factory.mktemp("t"))
    listed = root / "listed.json"
    listed.write_text('{"jobs": []}')
    classes = {
        name: kind | {"overhead_w": OVERHEAD_W + DECLARED_MORE_W}
        for name, kind in rules_of(place, tree=TREE, mode="enforce")["classes"].items()
    }
    with site_up(
        root / "run",
        place,
        without=("forecaster",),
        rules={"classes": classes, "leases": QUICK_LEASES, "pacing": {"cooldown_s": 2.0}},
        extra={"telemetry-node-1": {"EASYRIDER_TELEMETRY_JOBS_FILE": str(listed)}},
    ) as running:
        slice_a_board(running, listed)
        start_jobs(running)
        yield running


def slice_a_board(site: Site, listed: Path) -> None:
    """Cut board 1 into two, and list a job on one slice of it, named as that job's own NVML names it."""
    board = site.boards("node-1").gpus[SLICED : SLICED + 1]
    board["capabilities"] |= MIG_ENABLED
    board["mig_count"] = 2
    telemetry = site.child("telemetry-node-1")
    telemetry.signal(signal.SIGKILL)  # boards are cut while nobody uses them
    until(lambda: not telemetry.running(), 5)
    told = subprocess.run(
        [sys.executable, "-c", READ_SLICES],
        env={**os.environ, **telemetry.environ},
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )
    *slices, whole = told.stdout.split()
    assert all(name.startswith("MIG-") for name in slices)
    jobs = [{"id": "on-a-slice", "gpu_uuids": slices[:1]}, {"id": "on-a-board", "gpu_uuids": [whole]}]
    half = listed.with_suffix(".half")
    half.write_text(json.dumps({"jobs": jobs}))
    half.replace(listed)
    site.stack.start("telemetry-node-1")
    until(lambda: site.stack.unready() == [], 15, "every service to be ready")


@pytest.fixture(scope="module")
def bus(site: Site) -> Iterator[Ear]:
    with ear(site.stack.servers, subjects.every("plan")) as heard:
        yield heard


def newest(bus: Ear) -> Plan:
    plan: Plan = until(lambda: bus.of(Plan), 5, "a plan")[-1].message
    return plan


def job(bus: Ear, name: str) -> JobPlan | None:
    return next((each for each in newest(bus).jobs if each.job == name), None)


def pdu(bus: Ear) -> DomainPlan:
    return next(each for each in newest(bus).domains if each.domain == "pdu")


def drawn_w(site: Site) -> float:
    return float(site.tell_twin("status")["wall_w"]["pdu"])


def above_truth_w(site: Site, bus: Ear) -> float:
    """By how much the plan believes the PDU to draw more than it does."""
    return (pdu(bus).observed_w or 0.0) - drawn_w(site)


def test_a_job_that_names_a_slice_is_planned_on_the_board_it_is_cut_from(site: Site, bus: Ear):
    planned = until(lambda: job(bus, "on-a-slice"), 8, "the job on a slice")

    def opened() -> bool:
        found = job(bus, "on-a-slice")
        board_w = site.limits_w()["node-1"][SLICED]
        return found is not None and found.limit_w > MIN_W and abs(found.limit_w - board_w) < 1.0

    assert (planned.gpu_count, planned.mode) == (1, "enforce")
    until(opened, 15, "the whole board at the job's limit")
    assert {each.job for each in newest(bus).jobs} == {"on-a-slice", "on-a-board"}
    assert newest(bus).idle_gpus == 0


def test_what_only_the_meter_knows_is_learned_and_given_to_the_jobs(site: Site, bus: Ear):
    until(lambda: abs(above_truth_w(site, bus)) < NEAR_W, 40, "an offset learned from the meter")
    until(lambda: min(site.limits_w()["node-1"]) > LEARNED_W, 20, "its watts at the jobs")

    last, limits_w = pdu(bus), site.limits_w()["node-1"]
    declared_w = FIXED_W + OVERHEAD_W + DECLARED_MORE_W + SLOPE * sum(limits_w)
    assert drawn_w(site) <= last.target_w + 0.01 * last.target_w
    assert last.unmanaged_w == 0.0
    assert last.counted_w >= declared_w - 1.0, "the sum rule goes by what is declared, learned or not"
    assert last.closed
    site.clean_so_far()


def test_what_a_meter_taught_does_not_count_while_it_is_silent(site: Site, bus: Ear):
    site.tell_twin("silence_meter", meter="rack-meter", silent=True)

    until(lambda: above_truth_w(site, bus) > DECLARED_MORE_W - NEAR_W, 12, "the declared offset again")

    site.judged_clean()
