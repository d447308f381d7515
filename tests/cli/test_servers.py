"""The servers of a local stack: shut unless they are asked to be open, and open to this machine alone."""

import io
import time
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from rich.console import Console
from store_attempts import StoreAttempts

from easyrider.bus import Bus, BusDown
from easyrider_cli import servers
from easyrider_cli.api_child import address_file
from easyrider_cli.rundir import RunFolder
from easyrider_cli.servers import OPEN, servers_up
from easyrider_cli.stack import Stack
from easyrider_cli.stack_children import Scopes
from easyrider_cli.up_command import _say_where


def fresh(root: Path) -> RunFolder:
    folder = RunFolder.fresh(root)
    folder.log("x").parent.mkdir(parents=True, exist_ok=True)
    return folder


def listens_on(port: int) -> set[str]:
    """Addresses, as the kernel writes them, of those who listen on a port."""
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            local, state = line.split()[1], line.split()[3]
            address, at = local.split(":")
            if state == "0A" and int(at, 16) == port:
                found.add(address)
    return found


async def test_a_stack_lets_nobody_in_without_a_key_and_a_password(tmp_path: Path) -> None:
    with servers_up(fresh(tmp_path / "r"), Scopes.alone(["node-1"]).users) as running:
        with pytest.raises(BusDown):
            await Bus.connect(running.nats.url, name="policy", wait_s=0.5).__aenter__()
        stranger = StoreAttempts(running.redis.port)
        assert stranger.denied(("GET", "er:site:rules"), ("FLUSHALL",)) == [True, True]
        stranger.close()
        settings = running.bus("policy") | running.store("policy")
        async with Bus.connect(running.nats.url, name="policy", seed_file=running.seed("policy"), wait_s=5):
            pass
    assert set(settings) == {"nats_url", "seed_file", "redis_url", "redis_user", "redis_password_file"}


@pytest.mark.parametrize("insecure", [False, True], ids=["shut", "open"])
def test_a_stack_listens_on_the_loopback_alone(tmp_path: Path, insecure: bool) -> None:
    with servers_up(fresh(tmp_path / "r"), Scopes.alone(["node-1"]).users, insecure=insecure) as running:
        for server in running.by_name.values():
            assert listens_on(server.port) == {"0100007F"}, server.name


async def test_an_open_stack_has_to_be_asked_for_and_gives_out_no_keys(tmp_path: Path) -> None:
    with servers_up(fresh(tmp_path / "r"), Scopes.alone(["node-1"]).users, insecure=True) as running:
        async with Bus.connect(running.nats.url, name="anybody", wait_s=5) as bus:
            assert bus.connected
        assert running.keys is None
        assert set(running.bus("policy") | running.store("policy")) == {"nats_url", "redis_url"}
    assert OPEN.startswith("INSECURE")


def test_keys_and_passwords_of_a_stack_take_less_than_a_second_to_make(tmp_path: Path) -> None:
    folder, began_s = fresh(tmp_path / "r"), time.process_time()

    servers._guarded(folder, Scopes.alone([f"node-{n}" for n in range(8)]).users, "site")

    assert time.process_time() - began_s < 1.0


@pytest.mark.parametrize("insecure", [False, True], ids=["shut", "open"])
def test_an_open_stack_says_so_to_whoever_started_it(tmp_path: Path, insecure: bool) -> None:
    said = io.StringIO()
    with servers_up(fresh(tmp_path / "r"), Scopes.alone(["node-1"]).users, insecure=insecure) as running:
        stack = SimpleNamespace(
            servers=running,
            folder=RunFolder(tmp_path / "r"),
            world=SimpleNamespace(nodes=[], failures=[SimpleNamespace(domain="ups", at_s=1.0, for_s=1.0)]),
            services=lambda: [],
            children={},
        )
        address_file(stack.folder).write_text("127.0.0.1:1")
        _say_where(cast(Stack, stack), "enforce", None, None, Console(file=said, width=200))

    assert (OPEN in said.getvalue()) == insecure
