"""What the thread that reads boards makes of their looks, without boards, bus or clock of its own."""

import asyncio
import select
import threading
import time
from types import SimpleNamespace

import pytest
from fake_board import failed, fast, slow

from easyrider import subjects, wire
from easyrider.devices.board_readings import FastReading
from easyrider.messages import NodeFrame
from easyrider.testing.fake_bus import FakeBus
from easyrider_telemetry.adapters.frame_way import ThroughTheLoop
from easyrider_telemetry.adapters.overdue import OverdueTimer
from easyrider_telemetry.adapters.sampler import Row, Sampler
from easyrider_telemetry.core.frame import FrameBuilder
from easyrider_telemetry.core.roster import Roster
from easyrider_telemetry.handlers import Desk
from easyrider_telemetry.rows import BoardState, NoBoardAnswers, RowDesk

TICK_NS = 100_000_000


class Node:
    """Two boards, and everything that leaves."""

    def __init__(self, frame_s: float = 0.1) -> None:
        self.said, self.news, self.tended, self.put_off = [], [], 0, 0
        self.takes = True
        roster = Roster(look_s=0.1)
        self.sampler = Sampler(0.1, lambda row: None, lambda slot, reads: None)
        self.rows = RowDesk(
            FrameBuilder("local", "n1", "boot"), roster, self.sampler, self, self._put_off, self.news.append,
            frame_s=frame_s,
        )  # fmt: skip
        identities = [
            SimpleNamespace(uuid=f"GPU-{k}", name="H100", max_w=700.0, instances=()) for k in range(2)
        ]
        self.readers = [SimpleNamespace(abilities=None) for _ in identities]
        self.new = self.rows.found(list(zip(identities, self.readers, strict=True)))
        self.now_ns = 10**12

    def _put_off(self) -> None:
        self.put_off += 1

    def open(self) -> None:
        self.opened = True

    def say(self, body: bytes) -> bool:
        if self.takes:
            self.said.append(wire.decode(body, (NodeFrame,)))
        return self.takes

    def tend(self) -> None:
        self.tended += 1

    def close(self) -> None:
        self.takes = False

    def tick(self, looks: dict[int, FastReading] | None = None, **more: object) -> None:
        self.now_ns += TICK_NS
        if looks is None:
            looks = {slot: fast(self.now_ns, energy_mj=self.now_ns // 3_000_000) for slot in range(2)}
        self.rows.on_row(Row(self.now_ns, looks, {}, read_ns=self.now_ns, **more))


def test_every_tick_becomes_a_frame_at_once_and_puts_the_alarm_off():
    node = Node()

    for _ in range(25):
        node.tick()

    assert [frame.seq for frame in node.said] == list(range(1, 26))
    assert [frame.mono_ns for frame in node.said[:2]] == [10**12 + TICK_NS, 10**12 + 2 * TICK_NS]
    assert node.put_off == 25
    assert node.tended == 3  # with every tenth


def test_the_look_at_a_board_read_apart_is_in_the_next_frame():
    node = Node()
    node.tick()
    own = fast(node.now_ns + TICK_NS // 2, power_w=123.0, energy_mj=node.now_ns // 3_000_000)

    node.rows.on_row(Row(node.now_ns, {1: own}, {1: slow(node.now_ns)}, alone=True))
    assert len(node.said) == 1
    node.tick({0: fast(node.now_ns + TICK_NS)})

    assert list(node.said[-1].power_ok) == [0, 0]
    node.tick({0: fast(node.now_ns + TICK_NS)})
    assert list(node.said[-1].power_ok) == [0, 1]


def test_a_frame_that_cannot_leave_is_lost_and_the_next_says_so_by_its_number():
    node = Node()
    node.tick()
    node.takes = False
    node.tick()
    node.takes = True
    node.tick()

    assert [frame.seq for frame in node.said] == [1, 3]


def test_when_no_board_answers_for_a_second_somebody_is_told_to_begin_anew_more_patiently_each_time():
    node = Node()
    node.tick()
    told_at = []
    for tick in range(80):
        before = len(node.news)
        node.tick({slot: failed(node.now_ns, 15) for slot in range(2)})
        if any(isinstance(news, NoBoardAnswers) for news in node.news[before:]):
            told_at.append(tick)

    assert told_at == [10, 30, 70]
    assert NoBoardAnswers(15) in node.news
    assert [news for news in node.news if isinstance(news, BoardState)][:2] == [
        BoardState(f"GPU-{slot}", "fails with NVML code 15") for slot in range(2)
    ]


def test_boards_found_again_under_the_same_readers_are_no_news():
    node = Node()

    again = node.rows.found(
        [(SimpleNamespace(uuid="GPU-1", name="H100", max_w=700.0, instances=("MIG-1",)), node.readers[1])]
    )

    assert set(node.new) == {0, 1}
    assert node.opened
    assert again == {}


async def test_without_a_link_of_its_own_a_frame_takes_the_loop_and_the_bus_there():
    heard: list[int] = []
    async with FakeBus.connect() as bus:
        await bus.subscribe(subjects.frames_in("local"), (NodeFrame,), lambda m, _a: heard.append(m.seq))
        await say_through_the_loop(bus, heard)

    assert heard == [1]


async def say_through_the_loop(bus: FakeBus, heard: list[int]) -> None:
    desk = Desk(SimpleNamespace(region="local", node="n1"), bus, None, None, None, None, None)  # type: ignore[arg-type]
    loop = asyncio.get_running_loop()
    way = ThroughTheLoop(lambda body: loop.call_soon_threadsafe(desk.on_frame, body))
    node = Node()
    node.tick()

    thread = threading.Thread(target=way.say, args=(wire.encode(node.said[0]),))
    thread.start()
    await asyncio.to_thread(thread.join, 5)
    for _ in range(100):
        await asyncio.sleep(0.01)
        if heard:
            break


@pytest.mark.parametrize("again", [1, 3])
def test_the_alarm_goes_off_only_where_nobody_put_it_off_and_then_again_and_again(again):
    alarm = OverdueTimer(0.5, 0.01)

    def goes_off(within_s: float) -> bool:
        return bool(select.select([alarm], [], [], within_s)[0])

    assert not goes_off(0.05)  # nobody has begun
    for _ in range(4):
        alarm.put_off()
        time.sleep(0.15)  # of the 0.5 s: time goes by, and it is put off again
    alarm.put_off()
    assert not goes_off(0)

    for _ in range(again):
        assert goes_off(5)
        alarm.went_off()
    alarm.put_off()
    assert not goes_off(0.05)
