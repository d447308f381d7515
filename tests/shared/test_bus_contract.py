"""What a bus promises: the fake and the real one take the same exam."""

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
import pytest

from easyrider import errors, metrics, subjects
from easyrider.bus import Bus
from easyrider.bus_port import Arrival, BusPort, NoAnswer
from easyrider.embedded import ServerProcess
from easyrider.messages import Answer, Ask, ExitGrant, Hold, Message, SetLimits
from easyrider.testing import Exchange, FakeBus

Open = Callable[[], AbstractAsyncContextManager[BusPort]]
Eventually = Callable[..., Awaitable[None]]


def hold(seq: int, node: str = "n1") -> Hold:
    return Hold(tree="site", region="r1", node=node, epoch=1, seq=seq, nonce=3, ttl_s=5.0)


@pytest.fixture(params=["fake", "real"])
def open_bus(request: pytest.FixtureRequest) -> Open:
    if request.param == "fake":
        exchange = Exchange()
        return lambda: FakeBus.connect(exchange)
    server: ServerProcess = request.getfixturevalue("nats")
    return lambda: Bus.connect(server.url, name="test", wait_s=10)


@pytest.fixture
async def bus(open_bus: Open) -> AsyncIterator[BusPort]:
    async with open_bus() as bus:
        yield bus


async def test_what_one_says_the_other_hears_in_order_with_subject_and_time(
    bus: BusPort, open_bus: Open, eventually: Eventually
) -> None:
    heard: list[tuple[Message, Arrival]] = []
    async with open_bus() as other:
        await other.subscribe(subjects.commands_in("r1"), (Hold,), lambda m, a: heard.append((m, a)))

        for seq in range(50):
            await bus.publish(subjects.command("r1", "n1"), hold(seq))
        await eventually(lambda: len(heard) == 50)

    assert [message.seq for message, _ in heard] == list(range(50))
    assert heard[0][1].subject == "easyrider.v1.command.r1.n1"
    stamps = [arrival.mono_ns for _, arrival in heard]
    assert stamps == sorted(stamps)


async def test_a_subscription_that_returned_misses_nothing(
    bus: BusPort, open_bus: Open, eventually: Eventually
) -> None:
    async with open_bus() as other:
        for index in range(30):
            heard: list[Message] = []
            subject = subjects.command("r1", f"barrier{index}")
            await other.subscribe(subject, (Hold,), lambda m, _a, heard=heard: heard.append(m))

            await bus.publish(subject, hold(index))

            await eventually(lambda heard=heard: len(heard) == 1)


async def test_only_what_fits_the_pattern_is_heard(bus: BusPort, eventually: Eventually) -> None:
    heard: list[Message] = []
    await bus.subscribe(subjects.command("r1", "n2"), (Hold,), lambda m, _a: heard.append(m))

    await bus.publish(subjects.command("r1", "n1"), hold(1))
    await bus.publish(subjects.command("r2", "n2"), hold(2))
    await bus.publish(subjects.command("r1", "n2"), hold(3, "n2"))
    await eventually(lambda: heard)

    assert [message.seq for message in heard] == [3]


async def test_a_burst_for_a_thousand_nodes_leaves_in_one_go(bus: BusPort, eventually: Eventually) -> None:
    heard: list[int] = []
    await bus.subscribe(subjects.commands_in("r1"), (Hold,), lambda m, _a: heard.append(m.seq))

    for seq in range(1000):
        message = msgspec.structs.replace(hold(seq), sig=bytes(4000))
        await bus.publish(subjects.command("r1", f"n{seq}"), message)
    await eventually(lambda: len(heard) == 1000)

    assert heard == list(range(1000))


async def test_async_handlers_are_called_one_after_the_other(bus: BusPort, eventually: Eventually) -> None:
    log: list[str] = []

    async def slow(message: Hold, _arrival: Arrival) -> None:
        log.append(f"begin {message.seq}")
        await asyncio.sleep(0.01 if message.seq == 0 else 0)
        log.append(f"end {message.seq}")

    await bus.subscribe(subjects.command("r1", "n1"), (Hold,), slow)
    for seq in range(3):
        await bus.publish(subjects.command("r1", "n1"), hold(seq))
    await eventually(lambda: len(log) == 6)

    assert log == ["begin 0", "end 0", "begin 1", "end 1", "begin 2", "end 2"]


async def test_a_handler_that_fails_does_not_stop_the_next_message(
    bus: BusPort, eventually: Eventually
) -> None:
    heard: list[int] = []
    before = failures("hold")

    def fragile(message: Hold, _arrival: Arrival) -> None:
        heard.append(message.seq)
        if message.seq == 0:
            raise errors.WrongField("in this test")

    await bus.subscribe(subjects.command("r1", "n1"), (Hold,), fragile)
    await bus.publish(subjects.command("r1", "n1"), hold(0))
    await bus.publish(subjects.command("r1", "n1"), hold(1))
    await eventually(lambda: heard == [0, 1])

    assert failures("hold") == before + 1


async def test_a_kind_that_is_not_expected_is_counted_and_dropped(
    bus: BusPort, eventually: Eventually
) -> None:
    heard: list[Message] = []
    before = dropped("unknown_kind")
    await bus.subscribe(subjects.command("r1", "n1"), (SetLimits, ExitGrant), lambda m, _a: heard.append(m))

    await bus.publish(subjects.command("r1", "n1"), hold(0))
    await eventually(lambda: dropped("unknown_kind") == before + 1)

    assert heard == []


async def test_of_a_flood_the_newest_of_each_subject_wait_for_a_handler_that_lags(
    bus: BusPort, eventually: Eventually
) -> None:
    heard: list[tuple[str, int]] = []
    gate = asyncio.Event()
    before = dropped("backlog")

    async def lagging(message: Hold, _arrival: Arrival) -> None:
        heard.append((message.node, message.seq))
        await gate.wait()

    await bus.subscribe(subjects.commands_in("r1"), (Hold,), lagging, keep=3)
    await bus.publish(subjects.command("r1", "n0"), hold(0, "n0"))
    await eventually(lambda: heard)  # it is busy now
    for seq in range(20):
        for node in ("n1", "n2"):
            await bus.publish(subjects.command("r1", node), hold(seq, node))
    await eventually(lambda: dropped("backlog") == before + 2 * 17)
    gate.set()
    await eventually(lambda: len(heard) == 7)

    for node in ("n1", "n2"):
        assert [seq for name, seq in heard if name == node] == [17, 18, 19]


async def test_a_number_that_is_none_is_not_said(bus: BusPort) -> None:
    broken = Hold(tree="site", region="r1", node="n1", epoch=1, seq=1, nonce=3, ttl_s=math.nan)

    with pytest.raises(errors.NotFinite):
        await bus.publish(subjects.command("r1", "n1"), broken)
    with pytest.raises(errors.NotFinite):
        await bus.publish_event("drift", "r1", {"drop_w": math.inf}, source="test")


async def test_a_question_is_answered_by_the_one_who_leads_while_others_are_silent(
    bus: BusPort, open_bus: Open
) -> None:
    async def leads(ask: Ask) -> Answer:
        return answer(ask, b"{}")

    async def follows(ask: Ask) -> None:
        return None

    async with open_bus() as leader, open_bus() as follower:
        await follower.answer("r1", follows)
        await leader.answer("r1", leads)

        answers = [await bus.ask("r1", ask(name=f"job{index}"), 5.0) for index in range(20)]

    assert [each.reason for each in answers] == [f"job{index}" for index in range(20)]


async def test_questions_asked_at_once_each_get_their_own_answer(bus: BusPort, open_bus: Open) -> None:
    async def leads(ask: Ask) -> Answer:
        return answer(ask, ask.name.encode())

    async with open_bus() as leader:
        await leader.answer("r1", leads)

        answers = await asyncio.gather(*(bus.ask("r1", ask(name=f"job{i}"), 5.0) for i in range(20)))

    assert [each.body for each in answers] == [f"job{index}".encode() for index in range(20)]


async def test_a_question_that_nobody_hears_is_told_at_once(bus: BusPort) -> None:
    loop = asyncio.get_running_loop()
    began_s = loop.time()

    with pytest.raises(NoAnswer):
        await bus.ask("nowhere", ask(), 5.0)

    assert loop.time() - began_s < 4.0


async def test_a_question_that_everybody_leaves_open_ends_with_its_deadline(
    bus: BusPort, open_bus: Open
) -> None:
    async def follows(ask: Ask) -> None:
        return None

    async with open_bus() as follower:
        await follower.answer("r1", follows)

        with pytest.raises(NoAnswer):
            await bus.ask("r1", ask(), 0.2)


async def test_an_answer_in_the_name_of_another_tree_is_none(bus: BusPort, open_bus: Open) -> None:
    async def leads(ask: Ask) -> Answer:
        return msgspec.structs.replace(answer(ask, b""), tree="another")

    async with open_bus() as leader:
        await leader.answer("r1", leads)

        with pytest.raises(NoAnswer, match="another"):
            await bus.ask("r1", ask(), 5.0)


async def test_a_question_without_a_place_to_answer_is_left_aside(
    bus: BusPort, open_bus: Open, eventually: Eventually
) -> None:
    asked: list[str] = []

    async def leads(ask: Ask) -> Answer:
        asked.append(ask.name)
        return answer(ask, b"")

    async with open_bus() as leader:
        await leader.answer("r1", leads)
        await bus.publish(subjects.ask("r1"), ask(name="said to nobody"))
        await bus.ask("r1", ask(name="asked"), 5.0)

    assert asked == ["asked"]


def ask(name: str = "") -> Ask:
    return Ask(tree="site", region="r1", what="state", name=name, who="test")


def answer(ask: Ask, body: bytes) -> Answer:
    return Answer(
        tree=ask.tree, region=ask.region, ok=True, reason=ask.name, epoch=1, version=1, t_ns=0, body=body
    )


async def test_it_says_that_it_is_connected(bus: BusPort) -> None:
    assert bus.connected


def dropped(reason: str) -> float:
    return _value("bus_dropped_total", reason)


def failures(kinds: str) -> float:
    return _value("bus_handler_failures_total", kinds)


def _value(name: str, label: str) -> float:
    counter: Any = metrics.counter(name, "")
    with contextlib.suppress(KeyError):
        return float(counter.labels(label)._value.get())
    return 0.0
