"""Somebody else sets a limit while commands come and go: the states that watchers are told let them tell it apart."""

import asyncio
import importlib.util
import itertools
import time
from pathlib import Path

import pytest

from easyrider.guardian_link import AsyncGuardianLink, as_state
from easyrider_actuator.core.drift import notice
from easyrider_guardian.adapters.clocks import boot_ns
from easyrider_guardian.core import report

SPEC = importlib.util.spec_from_file_location("bench", Path(__file__).parent / "bench.py")
bench_module = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(bench_module)


@pytest.fixture
def bench(tmp_path):
    made = bench_module.Bench(tmp_path / "guardian")
    made.go_until(lambda: len(made.node.views) == 2)
    made.states = []
    made.looked = lambda: made.states.append(state(made.node))
    made.say(300, 300)
    yield made
    made.open()


def state(node):
    now_ns = boot_ns()
    return report.node_state(
        node.standing, node.terms, node.boards(now_ns), node.baselines, False, node.moment(now_ns)
    )


def told_by(bench):
    return drifts([*bench.states, state(bench.node)])


def drifts(told):
    return [drift.uuid for before, now in itertools.pairwise(told) for drift in notice(before, now)]


def test_a_write_just_before_a_command_that_takes_it_back_is_told(bench):
    bench.boards[0].requested_w = 700

    bench.say(290, 300)

    assert told_by(bench) == ["GPU-0"]
    assert bench.boards[0].requested_w == 290


def test_a_write_just_before_a_hold_is_told(bench):
    bench.boards[1].requested_w = 700

    bench.hold()

    assert told_by(bench) == ["GPU-1"]


def test_a_write_while_a_command_is_carried_out_is_told(bench):
    def foreign_write():
        bench.boards[0].requested_w = 650

    bench.boards[1].read_waits = [None, foreign_write]  # a look, then the read before the write

    bench.say(300, 290)

    assert told_by(bench) == ["GPU-0"]


def test_commands_alone_are_no_drift(bench):
    for limits_w in ((280, 300), (320, 310), (700, 200), (300, 300)):
        bench.say(*limits_w)
        bench.hold()

    assert told_by(bench) == []


async def test_who_watches_a_guardian_is_told_of_every_write_that_a_command_crossed(node):
    node.start()
    node.ready()
    node.say(node.limits(400, 400, 400, 400))
    told = []
    link = await AsyncGuardianLink.connect(node.socket, lambda reply: told.append(as_state(reply)))
    listening = asyncio.ensure_future(link.listen())
    told.append(as_state(await link.ask("watch")))

    for limit_w in (390, 380, 370):
        node.boards.gpus["requested_mw"][1] = node.boards.gpus["enforced_mw"][1] = 600_000
        await asyncio.to_thread(node.say, node.limits(limit_w, limit_w, limit_w, limit_w))

    end_s = time.monotonic() + 5
    while told[-1].highest_seq < node.seq and time.monotonic() < end_s:
        await asyncio.sleep(0.01)
    link.close()
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
    assert drifts(told) == ["GPU-1"] * 3
