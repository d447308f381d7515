"""Shipped units under a real systemd: they start in their order, with the rights they say, and limits outlive all."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from installed_site import write_site
from own_init import Machine, machine_up, until, why_not

from easyrider_twin import statefile

pytestmark = pytest.mark.system

GUARDIAN, ACTUATOR = "easyrider-guardian@guardian-n1.service", "easyrider-actuator@actuator-n1.service"
CAP_SYS_ADMIN = 1 << 21
GPUS = 2
COMMAND = """
import json, sys
from easyrider import wire
from easyrider.guardian_link import GuardianLink
from easyrider.messages import GpuLimit, SetLimits
with GuardianLink.open("/run/easyrider/guardian.sock") as link:
    state = link.state()
    limits = tuple(GpuLimit(uuid=gpu.uuid, limit_w=float(sys.argv[2]), fallback_w=250.0) for gpu in state.gpus)
    ack = link.apply(wire.encode(SetLimits(tree=state.tree, region=state.region, node=state.node, epoch=1,
                     seq=int(sys.argv[1]), ttl_s=5.0, nonce=state.nonce, limits=limits)))
    print(json.dumps([ack.accepted, [gpu.enforced_w for gpu in ack.gpus]]))
"""


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A host of node n1 with its bus, everything started as an operator starts it."""
    if why := why_not():
        pytest.skip(f"no machine with systemd can be started: {why}")
    root = Path(tmp_path_factory.mktemp("machine"))
    site = write_site(root / "site", nodes="n1", at="/etc/easyrider", data="/var/lib/easyrider")
    twin = "[Service]\nEnvironment=EASYRIDER_TWIN_STATE=/dev/shm/nvml.state\n"
    with machine_up(root / "host", site, {"easyrider-guardian@": twin}) as found:
        boards = statefile.create(found.boards / "nvml.state", GPUS, "n1").gpus
        for index in range(GPUS):
            boards["uuid"][index] = f"GPU-{index}".encode()
        boards["min_mw"], boards["max_mw"], boards["default_mw"] = 200_000, 700_000, 700_000
        boards["requested_mw"] = boards["enforced_mw"] = boards["default_mw"]
        boards["capabilities"] = 1 | 2 | 4 | 8
        found.systemctl("start", "easyrider-nats", GUARDIAN, ACTUATOR)
        yield found


def enforced_w(machine: Machine) -> list[float]:
    """What the hardware holds."""
    state = statefile.attach(machine.boards / "nvml.state")
    return [float(w) / 1e3 for w in statefile.enforced_limits_mw(state.gpus)]


def command(machine: Machine, seq: int, limit_w: float) -> Any:
    """A command over the guardian's socket, by the actuator's user."""
    done = machine.run(
        "setpriv", "--reuid=10001", "--regid=10001", "--clear-groups",
        "/opt/easyrider/current/bin/python", "-c", COMMAND, str(seq), str(limit_w),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_units_are_up_once_they_say_so_themselves(machine: Machine) -> None:
    assert machine.told(GUARDIAN, "ActiveState", "Type", "NRestarts") == ["active", "notify", "0"]
    assert machine.told(ACTUATOR, "ActiveState", "Type", "NRestarts") == ["active", "notify", "0"]
    assert machine.told("easyrider-nats", "ActiveState") == ["active"]


def test_each_process_has_the_rights_that_its_unit_says_and_no_more(machine: Machine) -> None:
    held = machine.process(GUARDIAN, "Uid", "CapBnd", "CapEff", "NoNewPrivs", "Seccomp")
    relay = machine.process(ACTUATOR, "Uid", "CapBnd", "CapEff", "NoNewPrivs", "Seccomp")

    assert held == ["0", f"{CAP_SYS_ADMIN:016x}", f"{CAP_SYS_ADMIN:016x}", "1", "2"]
    assert relay == ["10001", f"{0:016x}", f"{0:016x}", "1", "2"]


def test_the_guardian_has_no_network_and_its_socket_is_the_actuators(machine: Machine) -> None:
    (pid,) = machine.told(GUARDIAN, "MainPID")
    own, hosts = (machine.run("readlink", f"/proc/{one}/ns/net").stdout for one in (pid, "1"))
    told = machine.run("stat", "-c", "%a %g", "/run/easyrider", "/run/easyrider/guardian.sock").stdout

    assert own != hosts
    assert told.splitlines() == ["2750 10001", "660 10001"]


def test_limits_outlive_the_guardian_killed_restarted_and_stopped(machine: Machine) -> None:
    assert command(machine, 1, 400.0) == [True, [400.0] * GPUS]

    (before,) = machine.told(GUARDIAN, "MainPID")
    machine.systemctl("kill", "--signal=KILL", GUARDIAN)
    until(lambda: machine.told(GUARDIAN, "NRestarts", "SubState") == ["1", "running"], 10, machine)
    assert machine.told(GUARDIAN, "MainPID") != [before]
    assert enforced_w(machine) == [400.0] * GPUS

    assert command(machine, 2, 390.0) == [True, [390.0] * GPUS]
    machine.systemctl("restart", GUARDIAN)
    assert enforced_w(machine) == [390.0] * GPUS
    assert command(machine, 3, 380.0) == [True, [380.0] * GPUS]
    machine.systemctl("stop", GUARDIAN)
    assert machine.told(GUARDIAN, "Result", "ExecMainStatus") == ["success", "0"]
    assert enforced_w(machine) == [380.0] * GPUS
    machine.systemctl("start", GUARDIAN)
