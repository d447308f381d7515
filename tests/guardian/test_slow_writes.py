"""A write that hangs in the driver may come into effect at any later moment."""

import importlib.util
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location("bench", Path(__file__).parent / "bench.py")
bench_module = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(bench_module)


@pytest.fixture
def bench(tmp_path):
    made = bench_module.Bench(tmp_path / "guardian")
    made.go_until(lambda: len(made.node.views) == 2)
    yield made
    made.open()


def test_a_raise_that_hangs_is_acked_as_unknown_and_taken_back_when_it_lands(bench):
    assert [gpu.enforced_w for gpu in bench.say(300, 300).gpus] == [300, 300]
    bench.boards[0].gate.clear()

    ack = bench.say(500, 300)

    assert ack.gpus[0].refused == "no_answer"
    assert (ack.gpus[0].requested_w, ack.gpus[0].enforced_w) == (None, None)
    bench.boards[0].gate.set()
    bench.go_until(lambda: bench.boards[0].writes == [300, 500, 300])
    assert bench.boards[0].requested_w == 300


def test_a_lower_that_hangs_drops_the_raise_of_the_other_board(bench):
    bench.say(500, 300)
    bench.boards[0].gate.clear()

    ack = bench.say(300, 500)

    assert [gpu.refused for gpu in ack.gpus] == ["no_answer", "lower_unverified"]
    assert ack.gpus[0].enforced_w is None
    assert bench.boards[1].requested_w == 300


def test_an_older_write_that_hangs_does_not_come_after_a_newer_command(bench):
    bench.say(300, 300)
    bench.boards[0].gate.clear()
    bench.say(500, 300)
    bench.say(400, 300)

    bench.boards[0].gate.set()
    bench.go_until(lambda: bench.boards[0].writes == [300, 500, 300])
    bench.say(400, 300)

    assert bench.boards[0].writes == [300, 500, 300, 400]
