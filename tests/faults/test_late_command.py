"""What the referee is for: a command held back for 7 s, a guardian without its check, a write by somebody else."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import pytest
from delaying_proxy import DelayingProxy, delaying_proxy
from live_bus import Ear, Supply, ear, voice
from live_site import LEAN, MAX_W, QUICK_LEASES, Site, calm_world, site_up, start_jobs, until
from mutants import copy_packages, edit, python_path

from easyrider import subjects
from easyrider.messages import LimitAck
from easyrider_cli import servers
from easyrider_twin import library

pytestmark = [pytest.mark.system, pytest.mark.slow]

DELAY_S = 7.0
CHECKED, UNCHECKED = "node-1", "node-2"
LOW_W = 330.0


@pytest.fixture(scope="module")
def unchecked(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where a process finds a guardian that never calls a command late."""
    folder = copy_packages(Path(tmp_path_factory.mktemp("unchecked")), "easyrider_guardian")
    edit(
        folder,
        "easyrider_guardian/core/fence.py",
        "    return now_ns > lease.until_ns\n",
        "    return False\n",
    )
    return python_path(folder)


@pytest.fixture(scope="module")
def proxies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, DelayingProxy]]:
    port: dict[str, int] = {}
    with (
        delaying_proxy(lambda: port["nats"]) as first,
        delaying_proxy(lambda: port["nats"]) as second,
        pytest.MonkeyPatch.context() as patch,
    ):
        real = servers.nats_process

        def known(*arguments: Any, **named: Any) -> Any:
            server = real(*arguments, **named)
            port["nats"] = server.port
            return server

        patch.setattr(servers, "nats_process", known)
        yield {CHECKED: first, UNCHECKED: second}


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory, proxies: dict[str, DelayingProxy], unchecked: str
) -> Iterator[Site]:
    extra = {f"actuator-{node}": {"EASYRIDER_ACTUATOR_NATS_URL": proxies[node].url} for node in proxies}
    extra |= {f"guardian-{UNCHECKED}": {"PYTHONPATH": unchecked}}
    root, quick = Path(tmp_path_factory.mktemp("l")), {"leases": QUICK_LEASES}
    with site_up(root, calm_world(), without=LEAN, extra=extra, rules=quick) as running:
        start_jobs(running)
        yield running


@pytest.fixture(scope="module")
def bus(site: Site) -> Iterator[Ear]:
    with ear(site.stack.servers, subjects.every("ack"), subjects.every("command")) as heard:
        yield heard


def lowering(_subject: bytes, payload: bytes) -> bool:
    """Whether a command asks for limits under a UPS with modules out."""
    command = msgpack.unpackb(payload)
    return command["kind"] == "set_limits" and command["limits"][0]["limit_w"] < LOW_W


def test_a_command_held_back_for_seven_seconds_is_refused_and_without_the_check_counted(
    site: Site, bus: Ear, proxies: dict[str, DelayingProxy]
):
    until(lambda: min(map(min, site.limits_w().values())) > LOW_W, 20, "limits with room to fall")
    site.clean_so_far()
    for proxy in proxies.values():
        proxy.hold_next(lowering, DELAY_S)
    with voice(site.stack.servers, "infra-bridge") as bridge:
        Supply(bridge).say(3)
        until(lambda: all(proxy.released for proxy in proxies.values()), DELAY_S + 5, "both to be let go")

    late = {node: msgpack.unpackb(proxy.held[0]) for node, proxy in proxies.items()}
    refused = until(lambda: _ack(bus, late[CHECKED]), 5, "an answer to the late command")
    taken = until(lambda: _ack(bus, late[UNCHECKED]), 5, "an answer to the late command")

    assert (refused.accepted, refused.refused) == (False, "stale_nonce")
    assert taken.accepted
    until(lambda: site.so_far()["late_commands_applied"] == 2, 5, "the referee to count both boards")
    told = [finding for finding in site.findings() if finding["kind"] == "late"]
    assert {finding["node"] for finding in told} == {UNCHECKED}
    assert all(finding["late_s"] > DELAY_S - QUICK_LEASES["ttl_s"] - 0.1 for finding in told)
    assert not site.so_far()["ok"]


def _ack(bus: Ear, command: dict[str, Any]) -> LimitAck | None:
    key = {name: command[name] for name in ("node", "epoch", "seq")}
    found = bus.of(LimitAck, **key)
    return found[0].message if found else None


ROGUE = """
import sys
from pynvml import *
nvmlInit()
print("ready", flush=True)
sys.stdin.readline()
for index in range(nvmlDeviceGetCount()):
    nvmlDeviceSetPowerManagementLimit(nvmlDeviceGetHandleByIndex(index), int(sys.argv[1]))
"""


def _rogue(site: Site, node: str) -> subprocess.Popen[str]:
    """A process with the rights to write limits, and no business doing so."""
    environ = {
        **os.environ,
        "EASYRIDER_TWIN_STATE": str(site.folder.gpu_state(node)),
        "EASYRIDER_TWIN_PRIVILEGED": "1",
        "LD_LIBRARY_PATH": str(library.folder()),
    }
    command = [sys.executable, "-c", ROGUE, str(int(MAX_W * 1e3))]
    return subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_a_write_by_somebody_else_is_foreign_breaks_the_sum_and_is_taken_back(site: Site):
    before = site.so_far()

    writers = [_rogue(site, node) for node in (CHECKED, UNCHECKED)]
    for writer in writers:  # both at once: a guardian takes such a limit back within half a second
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=20)
    assert [writer.returncode for writer in writers] == [0, 0]

    until(lambda: max(map(max, site.limits_w().values())) < MAX_W, 5, "the guardians to take it back")
    time.sleep(2.0)  # the referee waits so long for a line that tells of a write
    after = site.so_far()
    assert before["foreign_writes"] == 0
    assert after["foreign_writes"] == 4
    assert after["sum_rule_violations"] > before["sum_rule_violations"] == 0
    assert after["limit_out_of_range"] == 0, "700 W is inside the board's range"
