"""What a service says of wrong settings and of a missing driver, before it touches anything."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from live_bus import Supply, ear, voice
from live_site import (
    LEAN,
    MAX_W,
    MIN_W,
    Site,
    holds,
    site_up,
    small_world,
    start_jobs,
    training,
    until,
)

from easyrider import subjects
from easyrider.messages import Plan
from easyrider_cli.process import Child
from easyrider_cli.readiness import is_ready
from easyrider_cli.site import rules_of
from easyrider_twin.world import Job

pytestmark = pytest.mark.system

WRONG_SETTINGS = 2
NOWHERE = "/nowhere/libnvidia-ml.so.1"
MISSING = {
    "telemetry": ("NODE",),
    "forecaster": (),
    "policy": (),
    "actuator": ("NODE", "SOCKET_PATH"),
    "guardian": ("NODE", "STATE_DIR", "SOCKET_PATH"),
    "infra_bridge": ("METERS_FILE",),
}
"""What each service cannot do without, by package."""


def started(package: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """A service run to its end with this environment, and no settings but those."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("EASYRIDER_")}
    command = [sys.executable, "-m", package]
    return subprocess.run(command, env=clean | environ, capture_output=True, text=True, timeout=30)


@pytest.mark.parametrize("service", MISSING)
def test_every_fault_of_the_settings_is_named_in_one_message(service: str):
    prefix = f"EASYRIDER_{service.upper()}_"
    wrong = {f"{prefix}LOG_LEVEL": "loud", f"{prefix}LOG_FORMAT": "verse", f"{prefix}COLOUR": "red"}

    ended = started(f"easyrider_{service}", **wrong)

    assert ended.returncode == WRONG_SETTINGS
    assert ended.stdout == ""
    [message] = ended.stderr.splitlines()
    for name in [*wrong, *(prefix + name for name in MISSING[service])]:
        assert name in message


def test_a_tree_that_cannot_be_kept_is_refused_with_every_number(tmp_path: Path):
    document = rules_of(small_world(), tree="site", mode="enforce")
    document["domains"][1] |= {"rating_w": 1500.0, "hard_limit_w": 1500.0, "target_w": 1500.0}
    document["nodes"][0]["fallback_w_per_gpu"] = document["nodes"][1]["fallback_w_per_gpu"] = 400.0
    document["leases"] = {"ttl_s": 50.0, "dead_man_s": 40.0}
    rules = tmp_path / "rules.yaml"
    rules.write_text(yaml.safe_dump(document))

    ended = started(
        "easyrider_policy",
        EASYRIDER_POLICY_TREE_FILE=str(rules),
        EASYRIDER_POLICY_STATE_DIR=str(tmp_path / "state"),
    )

    assert ended.returncode == WRONG_SETTINGS, ended.stderr
    assert "Traceback" not in ended.stderr
    [message] = [line for line in ended.stderr.splitlines() if line.startswith("easyrider-policy: ")]
    needed_w = 50 + 2 * (200 + 1.23 * 2 * 400)
    for word in (
        f"come to {needed_w:.0f} W",
        "1500 W",
        "we need",
        "leases.ttl_s is 50 s",
    ):
        assert word in message


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site of which node 2 has no NVML library."""
    job = Job(id="seen", type_key="seen", gpus={"node-1": (0, 1)}, program=training(5))
    nowhere = {"EASYRIDER_GUARDIAN_NVML_LIBRARY": NOWHERE}
    kept: dict[str, Child] = {}
    with site_up(
        Path(tmp_path_factory.mktemp("n")),
        small_world(jobs=(job,)),
        without=(*LEAN, "telemetry-node-2"),
        extra={"guardian-node-2": nowhere},
        keep_aside=kept,
    ) as running:
        running.stack.children["telemetry-node-2"] = kept["telemetry-node-2"]
        yield running


def test_a_node_without_the_library_says_so_stays_up_unready_and_counts_its_maximum(site: Site):
    child = site.child("telemetry-node-2")
    child.environ = {**child.environ, "EASYRIDER_TELEMETRY_LIBRARY": NOWHERE}
    with ear(site.stack.servers, subjects.every("plan")) as bus:
        site.stack.start("telemetry-node-2")

        until(lambda: NOWHERE in child.log.read_text(), 10, "telemetry to name the library it looked for")
        until(site.folder.health("telemetry-node-2").exists, 10)
        holds(lambda: not is_ready(site.folder.health("telemetry-node-2")), 2.0, "unready")
        assert child.running()
        plan = until(lambda: [each.message for each in bus.of(Plan)], 10)[-1]

    [pdu] = [domain for domain in plan.domains if domain.domain == "pdu"]
    node = site.stack.world.nodes[1]
    at_most_w = (
        node.overhead_w + node.overhead_slope * node.gpus * site.stack.world.models[node.model].max_limit_w
    )
    assert pdu.counted_w >= at_most_w + node.overhead_w + 2 * MIN_W
    assert not pdu.closed
    assert pdu.uncontrolled_gpus == node.gpus


def test_raises_beside_such_a_node_leave_room_for_all_it_may_draw(site: Site):
    start_jobs(site, verified=False)

    with voice(site.stack.servers, "infra-bridge") as bridge:
        Supply(bridge).say(5)  # a supply that told nothing counts at its smallest planned limit
        until(lambda: site.raises_since(0), 15, "a raise on the node that can be controlled")
    holds(lambda: site.limits_w()["node-2"] == [MAX_W] * 2, 2.0, "a node that nobody limits")
    site.judged_clean()
