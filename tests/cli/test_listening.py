"""Why no plan is shown: each cause has a true line of its own, and none shows a stack of calls."""

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from test_plan_view import plan

from easyrider import log, subjects
from easyrider.bus import Bus, BusRefused
from easyrider.messages import NodeState
from easyrider.nats_config import make_nkeys, seed_file
from easyrider_cli import address, listening, plan_command
from easyrider_cli.plan_command import Where, follow
from easyrider_cli.rundir import RunFolder
from easyrider_cli.servers import Servers, servers_up
from easyrider_cli.stack_children import Scopes


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    folder = RunFolder.fresh(Path(tmp_path_factory.mktemp("b")))
    with servers_up(folder, Scopes.alone(["node-1"]).users) as running:
        yield running


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    # it would keep this test's stderr for others
    monkeypatch.setattr(log, "configure", lambda *_, **__: None)
    monkeypatch.setattr(plan_command, "_CONNECT_S", 1.5)
    monkeypatch.setattr(plan_command, "_FIRST_S", 1.5)
    monkeypatch.setattr(plan_command, "_REDRAW_S", 0.1)
    monkeypatch.setattr(plan_command, "_OTHERS_S", 1.0)


def followed(url: str, seed: Path | None) -> None:
    follow(run=Path("/none"), nats_url=url, seed_file=seed, region=None, as_json=True, count=1)


def test_a_key_that_the_bus_does_not_know_is_told_as_such(servers: Servers, tmp_path: Path) -> None:
    make_nkeys(tmp_path, ["dashboard"])

    with pytest.raises(listening.NotLetIn, match=r"lets nobody in with the key in .*dashboard\.nk"):
        followed(servers.nats.url, seed_file(tmp_path, "dashboard"))
    with pytest.raises(listening.NotLetIn, match=r"lets nobody in without a key: .* --seed-file"):
        followed(servers.nats.url, None)


def test_where_no_server_listens_that_is_said(servers: Servers) -> None:
    with pytest.raises(listening.NoBus, match="no NATS server answers"):
        followed("nats://127.0.0.1:9", seed_file(servers.keys, "dashboard"))


def test_where_nobody_speaks_it_is_the_nodes_that_are_missing(servers: Servers) -> None:
    with pytest.raises(listening.NoNodeHeard, match="no node of region local is heard"):
        followed(servers.nats.url, seed_file(servers.keys, "dashboard"))


def test_where_nodes_speak_it_is_the_coordinator_that_is_missing(servers: Servers) -> None:
    over = threading.Event()
    state = NodeState(
        tree="site", region="local", node="node-1", boot_id="b", nonce=1, highest_epoch=0, highest_seq=0,
        armed=False, stage=0, leaving=False, gpus=(), t_ns=1, mono_ns=1,
    )  # fmt: skip

    async def speak() -> None:
        seed = seed_file(servers.keys, "actuator-node-1")
        async with Bus.connect(servers.nats.url, name="actuator-node-1", seed_file=seed, wait_s=5) as bus:
            while not over.is_set():
                await bus.publish(subjects.state("local", "node-1"), state)
                await asyncio.sleep(0.1)

    speaker = threading.Thread(target=lambda: asyncio.run(speak()), daemon=True)
    speaker.start()
    try:
        with pytest.raises(listening.NobodyLeads, match=r"no coordinator leads region local.*node-1 speak"):
            followed(servers.nats.url, seed_file(servers.keys, "dashboard"))
    finally:
        over.set()
        speaker.join(5)


def test_a_key_that_may_not_hear_nodes_blames_nobody(servers: Servers) -> None:
    with pytest.raises(listening.NoPlan, match="not known"):
        followed(servers.nats.url, seed_file(servers.keys, "forecaster"))


def test_a_key_that_may_not_hear_plans_is_told_so(servers: Servers) -> None:
    with pytest.raises(BusRefused, match=r"plan\.local is not allowed"):
        followed(servers.nats.url, seed_file(servers.keys, "infra-bridge"))


def test_a_coordinator_that_leads_and_hears_no_node_is_not_blamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "leads", lambda _file: True)

    fault = Where("nats://127.0.0.1:9", None, "local", tmp_path / "policy").why_no_plan(set())

    assert "its coordinator leads and waits for one" in str(fault)


def test_a_coordinator_says_by_its_metrics_whether_it_leads(tmp_path: Path) -> None:
    told = {"body": b"easyrider_policy_leading 1.0\n"}

    class Door(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(told["body"])

        def log_message(self, *_: object) -> None:
            """Quiet."""

    door = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    threading.Thread(target=door.serve_forever, daemon=True).start()
    (tmp_path / "policy").write_text(f"127.0.0.1:{door.server_port}\n")

    assert listening.leads(tmp_path / "policy")
    told["body"] = b"easyrider_policy_leading 0.0\n"
    assert not listening.leads(tmp_path / "policy")
    door.shutdown()
    door.server_close()
    assert not listening.leads(tmp_path / "policy")


def test_a_region_that_the_stack_does_not_have_is_refused_with_those_it_has(tmp_path: Path) -> None:
    folder = RunFolder.fresh(tmp_path / "run")
    place = address.Address(
        nats_url="nats://127.0.0.1:9", redis_url="", region="local", tree="site", nodes=(), watcher_seed=None,
        regions=("row-a", "row-b"),
    )  # fmt: skip
    address.leave(folder, place)

    with pytest.raises(listening.NoRegion, match=r"no region nope here: there is local, row-a, row-b"):
        follow(run=folder.root, nats_url=None, seed_file=None, region="nope", as_json=True, count=1)


def test_where_others_plan_the_region_that_nobody_is_of_is_named_with_them(servers: Servers) -> None:
    over = threading.Event()

    async def speak() -> None:
        seed = seed_file(servers.keys, "policy")
        async with Bus.connect(servers.nats.url, name="policy", seed_file=seed, wait_s=5) as bus:
            while not over.is_set():
                await bus.publish(subjects.plan("local"), plan())
                await asyncio.sleep(0.1)

    speaker = threading.Thread(target=lambda: asyncio.run(speak()), daemon=True)
    speaker.start()
    try:
        with pytest.raises(listening.NoRegion, match=r"no region nope here: there is local"):
            follow(
                run=Path("/none"), nats_url=servers.nats.url, seed_file=seed_file(servers.keys, "dashboard"),
                region="nope", as_json=True, count=1,
            )  # fmt: skip
    finally:
        over.set()
        speaker.join()
