"""Words of a crowd come as they were said, however the server's bytes are cut, and everything else as ever."""

import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from easyrider import bus_patience, subjects, wire
from easyrider.bus import Bus
from easyrider.bus_crowds import CrowdParser
from easyrider.bus_patience import Patience
from easyrider.bus_port import BusPort, Crowd
from easyrider.embedded import ServerProcess
from easyrider.messages import Hold
from easyrider.testing import Exchange, FakeBus

CROWD, OTHER = 7, 8
words = st.one_of(
    st.tuples(st.just("crowd"), st.binary(max_size=40)),
    st.tuples(st.just("other"), st.binary(max_size=40)),
    st.tuples(st.just("headed"), st.binary(max_size=40)),
    st.tuples(st.just("ping"), st.just(b"")),
)


@dataclass
class Client:
    """What a parser tells its client."""

    stats: dict[str, int] = field(default_factory=lambda: {"in_msgs": 0, "in_bytes": 0})
    heard: list[tuple[str, bytes]] = field(default_factory=list)

    async def _process_msg(self, sid: int, _subject: bytes, _reply: bytes, data: bytes, head: Any) -> None:
        self.heard.append(("crowd" if sid == CROWD else "headed" if head else "other", bytes(data)))

    async def _process_ping(self) -> None:
        self.heard.append(("ping", b""))


def said(word: tuple[str, bytes]) -> bytes:
    """As a server says it."""
    what, data = word
    if what == "ping":
        return b"PING\r\n"
    if what == "headed":
        head = b"NATS/1.0\r\n\r\n"
        return b"HMSG b 8 %d %d\r\n%b%b\r\n" % (len(head), len(head) + len(data), head, data)
    subject = b"a 7" if what == "crowd" else b"b 8 an.inbox"
    return b"MSG %b %d\r\n%b\r\n" % (subject, len(data), data)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(words, max_size=12), st.lists(st.integers(1, 60), min_size=1, max_size=8), st.integers(0, 400)
)
async def test_however_the_stream_is_cut_every_word_is_heard_once_and_in_order(
    spoken: list[tuple[str, bytes]], cuts: list[int], asked_at: int
) -> None:
    client, heard = Client(), []
    parser = CrowdParser(client)
    stream, at, turn = b"".join(map(said, spoken)), 0, 0
    asked = False

    while at < len(stream):
        if not asked and at >= asked_at:  # the crowd is asked for in the middle of whatever flows
            parser.hear(CROWD, lambda crowd, _now_ns: heard.extend(crowd))
            asked = True
        step = cuts[turn % len(cuts)]
        await parser.parse(stream[at : at + step])
        at, turn = at + step, turn + 1

    crowd = [data for what, data in client.heard if what == "crowd"] + [data for _, data in heard]
    assert crowd == [data for what, data in spoken if what == "crowd"]
    assert [w for w in client.heard if w[0] != "crowd"] == [w for w in spoken if w[0] != "crowd"]


async def test_what_a_lost_connection_left_unfinished_is_forgotten() -> None:
    client, heard = Client(), []
    parser = CrowdParser(client)
    parser.hear(CROWD, lambda crowd, _now_ns: heard.extend(crowd))

    await parser.parse(b"MSG a 7 10\r\nhalf")
    parser.reset()
    await parser.parse(b"MSG a 7 3\r\nnew\r\n")

    assert heard == [(b"a", b"new")]


Open = Callable[[], AbstractAsyncContextManager[BusPort]]
Eventually = Callable[..., Awaitable[None]]


def hold(seq: int) -> Hold:
    return Hold(tree="site", region="r1", node="n1", epoch=1, seq=seq, nonce=3, ttl_s=5.0)


@pytest.fixture(params=["fake", "real"])
def open_bus(request: pytest.FixtureRequest) -> Open:
    if request.param == "fake":
        exchange = Exchange()
        return lambda: FakeBus.connect(exchange)
    server: ServerProcess = request.getfixturevalue("nats")
    return lambda: Bus.connect(server.url, name="test", wait_s=10)


async def test_a_crowd_is_heard_in_order_and_goes_on_after_a_failure(
    open_bus: Open, eventually: Eventually
) -> None:
    heard: list[tuple[bytes, bytes]] = []
    failures: list[Crowd] = []

    def listener(crowd: Crowd, now_ns: int) -> None:
        assert now_ns > 0
        if not failures:
            failures.append(crowd)
            raise ValueError("on purpose")
        heard.extend(crowd)

    async with open_bus() as bus, open_bus() as other:
        await other.listen_to_crowd(subjects.commands_in("r1"), listener)

        await bus.publish(subjects.command("r1", "n1"), hold(0))
        await eventually(lambda: len(failures) == 1)
        for seq in range(1, 50):
            await bus.publish(subjects.command("r1", "n1"), hold(seq))
        await eventually(lambda: len(heard) == 49)

    subject = subjects.command("r1", "n1").encode()
    assert heard == [(subject, wire.encode(hold(seq))) for seq in range(1, 50)]


async def test_words_said_together_come_in_their_order_and_none_where_nothing_is_connected(
    open_bus: Open, eventually: Eventually
) -> None:
    heard: list[bytes] = []
    subject = subjects.command("r1", "n1")

    async with open_bus() as bus, open_bus() as other:
        await other.listen_to_crowd(
            subjects.commands_in("r1"), lambda crowd, _now_ns: heard.extend(body for _, body in crowd)
        )

        said = bus.publish_together([(subject, hold(seq)) for seq in range(30)])
        await bus.publish(subject, hold(30))
        await eventually(lambda: len(heard) == 31 or not said)

    assert heard == [wire.encode(hold(seq)) for seq in range(31)]
    assert not bus.publish_together([(subject, hold(31))]) or isinstance(bus, FakeBus)


@pytest.mark.parametrize("busy", [True, False])
def test_an_echo_is_waited_for_as_long_as_the_server_speaks_of_other_things_and_a_minute_at_most(
    busy: bool,
) -> None:
    said = 0

    def heard() -> int:
        nonlocal said
        said += busy
        return said

    patience = Patience(heard)

    ended_s = next(at_s for at_s in range(200) if patience.ends(float(at_s)))

    assert ended_s == (60 if busy else 5)


async def test_who_starts_while_a_fleet_speaks_hears_its_own_echo_behind_what_was_said_before(
    nats: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bus_patience, "SILENT_S", 0.3)
    slow = subjects.frame("busy", "n1")

    def hears(crowd: Crowd, _now_ns: int) -> None:
        time.sleep(
            1e-3 * len(crowd)
        )  # a second and a half for all of them: longer than a silent server is given

    async with Bus.connect(nats.url, name="policy") as bus, Bus.connect(nats.url, name="t") as node:
        await bus.listen_to_crowd(slow, hears)
        for seq in range(1500):
            await node.publish(
                slow, Hold(tree="s", region="r", node="n", epoch=1, seq=seq, nonce=3, ttl_s=5.0)
            )

        await bus.subscribe(subjects.command("r", "n"), (Hold,), lambda _m, _a: None)
