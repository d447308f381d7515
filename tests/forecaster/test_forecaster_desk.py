"""The desk between bus, store and engine."""

import asyncio
from collections.abc import Callable

import msgspec
from forecast_region import frame, make_rules

from easyrider import tree_reader
from easyrider.bus_port import Arrival
from easyrider.messages import Plan
from easyrider.testing.fake_bus import FakeBus
from easyrider.testing.fake_store import FakeStore
from easyrider_forecaster import handlers
from easyrider_forecaster.core.engine import Engine
from easyrider_forecaster.handlers import Desk


def a_plan(tree_version: int) -> Plan:
    return Plan(
        region="r", tree="site", tree_version=tree_version, epoch=1, seq=1, t_ns=0, mono_ns=0, cause="tick",
        leading=True, domains=(), jobs=(), idle_gpus=0, lowers=0, raises=0, raises_waiting=0, silent_nodes=(),
        reactive=False, gap=None, plan_ms=1.0,
    )  # fmt: skip


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.02)


async def test_rules_come_from_the_store_and_follow_the_coordinators_version() -> None:
    engine, store = Engine(), FakeStore()
    desk = Desk(bus=FakeBus(), engine=engine, region="r", tree="site", pool=None)
    await store.save_rules("site", 1, tree_reader.dump(make_rules(("n1",))))
    follow = asyncio.create_task(desk.follow_rules(store))
    try:
        await until(lambda: engine.domains.ids == ("pdu", "rack"))
        await store.save_rules("site", 2, tree_reader.dump(make_rules(("n1", "n2"), version=2)))
        desk.on_plan(a_plan(2), Arrival("plan", 0))
        await until(lambda: set(engine.intake.shares) == {"n1", "n2"})
    finally:
        follow.cancel()


def test_a_frame_whose_columns_do_not_fit_changes_nothing() -> None:
    engine = Engine()
    desk = Desk(bus=FakeBus(), engine=engine, region="r", tree="site", pool=None)
    wrong = msgspec.structs.replace(frame("n1", ("GPU-0",), 5.0, [300.0]), mean_w=b"\x00")

    desk.on_frame(wrong, Arrival("frame", 5_000_000_000))

    assert desk.silence_s() is None
    assert engine.intake.boards.rows == 0


def test_what_was_said_twice_or_overtaken_and_sensors_that_stood_still_are_told_as_metrics() -> None:
    engine = Engine()
    desk = Desk(bus=FakeBus(), engine=engine, region="r", tree="site", pool=None)
    for at_s in (5.0, 5.1, 5.1, 5.3, 5.2):
        desk.on_frame(frame("n1", ("GPU-0",), at_s, [300.0]), Arrival("frame", int(at_s * 1e9)))
    engine.intake.dropped["stuck_samples"] += 7

    desk._count()

    told = {name: handlers._faulty[name]._value.get() for name in handlers._faulty}
    assert told == {"duplicate_frames": 1.0, "late_frames": 1.0, "stuck_samples": 7.0}
