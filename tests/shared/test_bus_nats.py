"""The bus when NATS is killed, frozen, full, foreign or forbids: what the client library alone gets wrong."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import nats as nats_client
import pytest

from easyrider import subjects
from easyrider.bus import Bus, BusClosed, BusDown, BusRefused, EventNotKept
from easyrider.embedded import ServerProcess
from easyrider.messages import Hold, Message
from easyrider.nats_config import make_nkeys, nats_config, seed_file, site_users
from easyrider.testing.servers import nats_server

Eventually = Callable[..., Awaitable[None]]
SUBJECT = subjects.command("r1", "n1")


def hold(seq: int, sig: bytes = b"") -> Hold:
    return Hold(tree="site", region="r1", node="n1", epoch=1, seq=seq, nonce=3, ttl_s=5.0, sig=sig)


async def say_until_refused(bus: Bus) -> tuple[int, float]:
    slowest_s = 0.0
    for seq in range(4000):
        began_s = time.monotonic()
        try:
            await bus.publish(SUBJECT, hold(seq, sig=bytes(60_000)))
        except BusDown:
            return seq, slowest_s
        slowest_s = max(slowest_s, time.monotonic() - began_s)
    return 4000, slowest_s


@pytest.fixture
def own_nats() -> Iterator[ServerProcess]:
    with nats_server() as server:
        yield server


async def test_with_the_server_gone_publishing_says_so_at_once_and_nothing_comes_late(
    own_nats: ServerProcess, eventually: Eventually
) -> None:
    heard: list[int] = []
    async with (
        Bus.connect(own_nats.url, name="policy", buffered=False) as bus,
        Bus.connect(own_nats.url, name="actuator") as other,
    ):
        await other.subscribe(SUBJECT, (Hold,), lambda m, _a: heard.append(m.seq))
        own_nats.kill()
        await eventually(lambda: not bus.connected)
        with pytest.raises(BusDown, match="not connected"):
            await bus.publish(SUBJECT, hold(1))
        own_nats.start()
        await eventually(lambda: bus.connected and other.connected)
        await other.subscribe(subjects.command("r1", "n2"), (Hold,), lambda m, _a: None)  # a barrier

        await bus.publish(SUBJECT, hold(2))
        await eventually(lambda: heard)

    assert heard == [2]


async def test_after_an_outage_it_is_back_within_five_seconds_with_every_subscription(
    own_nats: ServerProcess, eventually: Eventually
) -> None:
    heard: list[int] = []
    async with Bus.connect(own_nats.url, name="telemetry") as bus:
        await bus.subscribe(SUBJECT, (Hold,), lambda m, _a: heard.append(m.seq))
        own_nats.kill()
        await eventually(lambda: not bus.connected)
        await asyncio.sleep(3.0)  # an outage, not a wait for something
        own_nats.start()
        await eventually(lambda: bus.connected, 5.0)

        await bus.publish(SUBJECT, hold(1))
        await eventually(lambda: heard == [1])


async def test_a_frozen_server_is_noticed_and_commands_stuck_on_our_side_are_never_delivered(
    own_nats: ServerProcess, eventually: Eventually
) -> None:
    heard: list[int] = []
    async with (
        Bus.connect(own_nats.url, name="policy", buffered=False) as bus,
        Bus.connect(own_nats.url, name="actuator") as other,
    ):
        await other.subscribe(SUBJECT, (Hold,), lambda m, _a: heard.append(m.seq))
        own_nats.freeze()
        said, slowest_s = await say_until_refused(bus)
        assert said < 4000  # kernel and library buffers swallow some; then it must say so
        assert slowest_s < 1.0  # and not wait
        await eventually(lambda: not bus.connected, 12.0)  # pings every 2 s, two may be missing
        own_nats.thaw()
        await eventually(lambda: bus.connected and other.connected, 8.0)
        await bus.publish(SUBJECT, hold(10**6))
        await eventually(lambda: 10**6 in heard, 8.0)

    # what the kernel had taken may arrive (the receiver refuses it by age); what we still held may not
    assert len(heard) - 1 < said
    assert said - 1 not in heard


async def test_a_service_may_start_before_its_bus(own_nats: ServerProcess, eventually: Eventually) -> None:
    own_nats.stop()
    opened: list[Bus] = []

    async def service() -> None:
        async with Bus.connect(own_nats.url, name="telemetry") as bus:
            opened.append(bus)

    task = asyncio.create_task(service())
    await asyncio.sleep(0.5)  # it is trying
    assert not opened
    own_nats.start()

    await asyncio.wait_for(task, 5.0)


async def test_whoever_cannot_wait_is_told_that_no_server_answers(own_nats: ServerProcess) -> None:
    own_nats.stop()

    with pytest.raises(BusDown, match="no server answered"):
        async with Bus.connect(own_nats.url, name="cli", wait_s=0.5):
            pass


async def test_a_client_that_gives_up_for_good_ends_its_service(own_nats: ServerProcess) -> None:
    async def service() -> None:
        async with Bus.connect(own_nats.url, name="telemetry") as bus:
            await bus._client.close()  # as the library does on errors it takes for final
            await asyncio.sleep(60)

    with pytest.raises(BusClosed):
        await asyncio.wait_for(service(), 5.0)


async def test_events_are_kept_as_cloudevents_that_plain_json_reads(
    own_nats: ServerProcess, eventually: Eventually
) -> None:
    async with Bus.connect(own_nats.url, name="policy") as bus:
        with pytest.raises(EventNotKept):
            await bus.publish_event("drift", "r1", {"gpu": "GPU-1"}, source="actuator/n1", ack_s=0.5)
        await bus.keep_events()
        await bus.keep_events()  # twice is as good as once

        await bus.publish_event(
            "drift", "r1", {"gpu": "GPU-1", "drop_w": 1.5}, source="actuator/n1", ack_s=2.0
        )

    client = await nats_client.connect(own_nats.url)
    kept = await client.jetstream().get_last_msg("EVENTS", subjects.event("drift", "r1"))
    await client.close()
    event = json.loads(kept.data or b"")
    assert event["specversion"] == "1.0"
    assert event["type"] == "easyrider.drift"
    assert event["source"] == "actuator/n1"
    assert event["data"] == {"gpu": "GPU-1", "drop_w": 1.5}


async def test_foreign_bytes_are_counted_and_the_next_message_is_taken(
    own_nats: ServerProcess, eventually: Eventually
) -> None:
    heard: list[int] = []
    client = await nats_client.connect(own_nats.url)
    async with Bus.connect(own_nats.url, name="actuator") as bus:
        await bus.subscribe(SUBJECT, (Hold,), lambda m, _a: heard.append(m.seq))
        for foreign in (b"", b"\xc1", b"\xdf\xff\xff\xff\xff", b"{}"):
            await client.publish(SUBJECT, foreign)
        await client.publish(SUBJECT, msgspec.msgpack.encode(hold(5)))

        await eventually(lambda: heard == [5])
    await client.close()


class _Guarded:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        nodes = ("n1", "n2")
        names = ["policy", "forecaster", "dashboard", "telemetry-n1", "actuator-n1", "actuator-n2"]
        self.keys = make_nkeys(folder, names)
        self.users = site_users("r1", nodes, self.keys)

    def config(self, port: int) -> str:
        return nats_config(self.users, port, self.folder / "jetstream")

    def seed(self, name: str) -> Path:
        return seed_file(self.folder, name)


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[tuple[ServerProcess, _Guarded]]:
    setup = _Guarded(tmp_path)
    with nats_server(setup.config) as server:
        yield server, setup


async def test_each_user_is_refused_what_is_not_its_own_and_told_so(
    guarded: tuple[ServerProcess, _Guarded], eventually: Eventually
) -> None:
    server, setup = guarded
    handler: Any = lambda _m, _a: None  # noqa: E731
    forbidden = {
        "actuator-n1": [subjects.command("r1", "n2"), subjects.commands_in("r1"), "_INBOX_policy.>", ">"],
        "telemetry-n1": [subjects.command("r1", "n1"), subjects.frames_in("r1")],
        "forecaster": [subjects.states_in("r1"), subjects.commands_in("r1")],
        "dashboard": [subjects.commands_in("r1"), "_INBOX_policy.>", subjects.every("command")],
        "policy": [subjects.frames_in("r2"), "_INBOX_actuator-n1.>"],
    }
    for user, patterns in forbidden.items():
        async with Bus.connect(server.url, name=user, seed_file=setup.seed(user), wait_s=10) as bus:
            for pattern in patterns:
                with pytest.raises(BusRefused) as caught:
                    await bus.subscribe(pattern, (Hold,), handler)
                assert caught.value.subject == pattern
            assert bus.connected  # a refusal closes nothing


def test_a_service_whose_region_the_bus_refuses_says_so_in_one_plain_sentence(
    guarded: tuple[ServerProcess, _Guarded],
) -> None:
    server, setup = guarded
    settings = {
        "REGION": "r2",
        "NATS_URL": server.url,
        "SEED_FILE": setup.seed("forecaster"),
        "FITS": "false",
    }
    environ = {f"EASYRIDER_FORECASTER_{name}": str(value) for name, value in settings.items()}

    done = subprocess.run(
        [sys.executable, "-m", "easyrider_forecaster"],
        env=os.environ | environ, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    [line] = [line for line in done.stderr.splitlines() if not line.startswith("{")]
    assert line.startswith("easyrider-forecaster: easyrider.v1.frame.r2.> is not allowed to this user")


async def test_only_the_policy_is_heard_as_commander(
    guarded: tuple[ServerProcess, _Guarded], eventually: Eventually
) -> None:
    server, setup = guarded
    heard: list[Message] = []
    async with Bus.connect(server.url, name="a", seed_file=setup.seed("actuator-n1"), wait_s=10) as node:
        await node.subscribe(SUBJECT, (Hold,), lambda m, _a: heard.append(m))
        for seq, user in enumerate(["telemetry-n1", "actuator-n2", "forecaster", "dashboard", "policy"]):
            async with Bus.connect(server.url, name="b", seed_file=setup.seed(user), wait_s=10) as bus:
                await bus.publish(SUBJECT, hold(seq))

        await eventually(lambda: heard)

    assert [message.seq for message in heard] == [4]  # type: ignore[attr-defined]


async def test_the_policy_makes_the_stream_and_a_node_may_add_its_events(
    guarded: tuple[ServerProcess, _Guarded],
) -> None:
    server, setup = guarded
    async with Bus.connect(server.url, name="p", seed_file=setup.seed("policy"), wait_s=10) as bus:
        await bus.keep_events()
    async with Bus.connect(server.url, name="a", seed_file=setup.seed("actuator-n1"), wait_s=10) as bus:
        await bus.publish_event("drift", "r1", {"gpu": "GPU-1"}, source="actuator/n1", ack_s=2.0)
        with pytest.raises(EventNotKept):
            await bus.publish_event("audit", "r1", {"gpu": "GPU-1"}, source="actuator/n1", ack_s=0.5)


async def test_a_stranger_is_not_let_in(guarded: tuple[ServerProcess, _Guarded], tmp_path: Path) -> None:
    server, _setup = guarded
    make_nkeys(tmp_path / "strange", ["policy"])
    for seed in (None, seed_file(tmp_path / "strange", "policy")):
        with contextlib.suppress(asyncio.CancelledError), pytest.raises(BusDown):
            async with Bus.connect(server.url, name="policy", seed_file=seed, wait_s=1.0):
                pass
