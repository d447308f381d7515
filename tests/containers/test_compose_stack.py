"""compose.yaml with two simulated nodes: it limits, it survives what is killed and frozen, it leaves nothing behind.

The tests of this file share one stack and are read from top to bottom: a day in its life.
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from compose_stack import NODES, ROOT, ComposeStack, own_stack, until
from page import blocks

from easyrider import subjects
from easyrider.bus import Bus, BusDown
from easyrider.messages import LimitAck
from easyrider.tls import TlsFiles

pytestmark = [pytest.mark.containers, pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(900)]

RATING_W, FALLBACK_W, MIN_W = 700.0, 250.0, 200.0
GUARDIANS = tuple(f"guardian-{node}" for node in NODES)
SERVICES = (
    "nats", "redis", "policy", "forecaster", "infra-bridge", "api", "twin", *GUARDIANS,
    *(f"{name}-{node}" for name in ("telemetry", "actuator") for node in NODES),
)  # fmt: skip
SYS_ADMIN = 1 << 21
COMMANDS = [
    block
    for block in blocks(ROOT / "docs" / "install.md")
    if block.where == "containers"
    and not block.text.startswith("make ")  # those bring up and down what is tested
]
DEAD_MAN_S, GRANT_AGE_S = 10.0, 2.0


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComposeStack]:
    with own_stack(tmp_path_factory.mktemp("containers"), "day") as stack:
        up = stack.run("up")
        assert up.returncode == 0, up.stderr
        yield stack


def _capabilities(stack: ComposeStack, service: str) -> int:
    """What the first process of a container may do, as the kernel says."""
    status = Path(f"/proc/{stack.pid(service)}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff")), 16)


def test_every_service_comes_up_and_is_well(stack: ComposeStack) -> None:
    until(lambda: all(stack.is_well(name) for name in SERVICES), 60, "every container healthy")


def test_the_guardian_alone_has_a_privilege_and_it_is_one_and_it_has_no_network(stack: ComposeStack) -> None:
    for name in SERVICES:
        host = stack.container(name)["HostConfig"]
        guards = name in GUARDIANS
        assert host["ReadonlyRootfs"], name
        assert not host["Privileged"], name
        assert "no-new-privileges:true" in host["SecurityOpt"], name
        assert _capabilities(stack, name) == (SYS_ADMIN if guards else 0), name
        assert (stack.container(name)["Config"]["User"].split(":")[0] == "0") == guards, name
        assert (host["NetworkMode"] == "none") == guards, name


def test_limits_are_applied_on_the_boards_and_the_ack_is_on_the_bus(stack: ComposeStack) -> None:
    seen = until(
        lambda: [w for boards in stack.limits_w().values() for w in boards if w < RATING_W],
        60,
        "a limit below the rating on some board",
    )
    assert all(w >= MIN_W for w in seen)

    ack = asyncio.run(_next_ack(stack))

    assert ack.accepted
    assert ack.node in NODES


def _watcher(stack: ComposeStack, **files: Path | None) -> dict[str, object]:
    folder = stack.site / "dashboard"
    shown = {"ca": folder / "ca.pem", "certificate": folder / "certificate.pem", "key": folder / "key.pem"}
    return {"name": "dashboard", "seed_file": folder / "dashboard.nk", "tls": TlsFiles(**(shown | files))}


async def _next_ack(stack: ComposeStack) -> LimitAck:
    heard: asyncio.Queue[LimitAck] = asyncio.Queue()
    url = f"tls://127.0.0.1:{stack.port}"
    async with Bus.connect(url, wait_s=20.0, **_watcher(stack)) as bus:  # type: ignore[arg-type]
        await bus.subscribe(
            subjects.acks_in("local"), (LimitAck,), lambda ack, _arrival: heard.put_nowait(ack)
        )
        return await asyncio.wait_for(heard.get(), 20.0)


async def test_the_published_bus_lets_nobody_in_without_a_certificate_of_the_site(
    stack: ComposeStack,
) -> None:
    alone = _watcher(stack, certificate=None, key=None)

    with pytest.raises(BusDown):
        async with Bus.connect(f"tls://127.0.0.1:{stack.port}", wait_s=5.0, **alone):  # type: ignore[arg-type]
            pass


@pytest.mark.parametrize("service", ["guardian-node-1", "actuator-node-2", "policy"])
def test_a_container_that_is_killed_comes_back_and_no_limit_is_given_up(
    stack: ComposeStack, service: str
) -> None:
    before = {node: len(stack.writes(node)) for node in NODES}

    killed = stack.kill(service)
    began_s = time.monotonic()
    until(lambda: stack.pid(service) not in (0, killed), 15, f"{service} started again")
    until(lambda: stack.is_well(service), 60, f"{service} healthy again")
    back_s = time.monotonic() - began_s

    causes = {write["cause"] for node in NODES for write in stack.writes(node)[before[node] :]}
    # a machine so busy that a start takes longer than the dead-man waits sees it act, and never sees more than that
    assert causes <= ({"command"} if back_s < DEAD_MAN_S - GRANT_AGE_S else {"command", "dead_man_1"})


def test_a_frozen_coordinator_leaves_every_board_at_its_fallback_and_takes_over_again(
    stack: ComposeStack,
) -> None:
    until(lambda: _above_fallback(stack), 120, "boards that have more than their fallback")
    before = {node: len(stack.writes(node)) for node in NODES}

    stack.compose("pause", "policy")
    try:
        until(lambda: not _above_fallback(stack), 30, "every board at min(present, fallback) without a grant")
        causes = {write["cause"] for node in NODES for write in stack.writes(node)[before[node] :]}
        assert "dead_man_1" in causes
    finally:
        stack.compose("unpause", "policy")

    until(lambda: _above_fallback(stack), 120, "the coordinator raises again")
    until(lambda: stack.is_well("policy"), 60, "policy healthy again")


def _above_fallback(stack: ComposeStack) -> list[float]:
    return [w for boards in stack.limits_w().values() for w in boards if w > FALLBACK_W]


@pytest.mark.parametrize("number", range(len(COMMANDS)))
def test_a_command_of_the_installation_page_runs_against_it(stack: ComposeStack, number: int) -> None:
    command = COMMANDS[number].text
    for theirs, ours in (
        (":4222", f":{stack.port}"), (":8480", f":{stack.api_port}"), (" site/", f" {stack.site}/"),
        ("-p easyrider ", f"-p {stack.project} "),
    ):  # fmt: skip
        command = command.replace(theirs, ours)
    environ = stack.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=ROOT, env=environ, capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip

    assert done.returncode == 0, (command, done.stdout, done.stderr)


@pytest.mark.parametrize("role", ["telemetry", "actuator"])
def test_the_shell_lines_of_the_kubernetes_manifest_start_the_service_with_the_settings_of_init(
    stack: ComposeStack, role: str
) -> None:
    (container,) = [
        each
        for document in yaml.safe_load_all((ROOT / "deploy" / "kubernetes" / "30-nodes.yaml").read_text())
        for each in document["spec"]["template"]["spec"]["containers"]
        if each["name"] == role
    ]
    name = f"{stack.project}-manifest-{role}"
    command = [
        "docker", "run", "--detach", "--rm", "--name", name, "--network", f"{stack.project}_inside",
        "--user", "10001:10001", "--group-add", str(stack.site.stat().st_gid), "--read-only", "--cap-drop", "ALL",
        "--tmpfs", "/tmp", "--tmpfs", "/run/secrets:mode=1777", "--env", "NODE_NAME=node-1",
        "--volume", f"{stack.site}/{role}-node-1:/etc/easyrider-own:ro",
        "easyrider:local", *container["command"],
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    try:

        def told() -> str:
            said = subprocess.run(["docker", "logs", name], capture_output=True, text=True, check=True)
            return said.stdout + said.stderr

        until(lambda: '"event": "starting"' in told(), 30, "its settings taken")
        assert "settings:" not in told()
    finally:
        subprocess.run(["docker", "rm", "--force", name], check=True, capture_output=True, timeout=60)


def test_down_leaves_neither_container_nor_network_nor_volume(stack: ComposeStack) -> None:
    assert stack.left_over()

    down = stack.run("down")

    assert down.returncode == 0, down.stderr
    assert stack.left_over() == []
