"""What an ack says of the boards is no older than the moment that it names."""

import importlib.util
import threading
from pathlib import Path

import pytest

from easyrider_guardian.adapters.clocks import boot_ns, mono_ns

SPEC = importlib.util.spec_from_file_location("bench", Path(__file__).parent / "bench.py")
bench_module = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(bench_module)


@pytest.fixture
def bench(tmp_path):
    made = bench_module.Bench(tmp_path / "guardian")
    made.go_until(lambda: len(made.node.views) == 2)
    made.say(300, 300)
    made.node.crew.look_now()
    made.node.absorb()
    yield made
    made.open()


def test_a_hold_is_answered_with_what_the_boards_enforce_now(bench):
    bench.boards[0].requested_w = 700  # somebody else writes; a frame may have told of it by now

    ack = bench.hold()

    assert [gpu.enforced_w for gpu in ack.gpus] == [700, 300]


def test_a_renewal_is_answered_with_what_came_while_other_boards_were_written(bench):
    def foreign_write():
        bench.boards[0].requested_w = 650

    bench.boards[1].read_waits = [None, foreign_write]  # a look, then the read before the write

    ack = bench.say(300, 290)

    assert [gpu.enforced_w for gpu in ack.gpus] == [650, 290]


def test_an_ack_names_a_moment_before_its_oldest_reading_and_after_its_writes(bench):
    read_ns, write_ns = [], []
    for board in bench.boards:
        board.read_waits = [lambda: read_ns.append(mono_ns())] * 20
    write = bench.boards[0].write
    bench.boards[0].write = lambda limit_w: (write(limit_w), write_ns.append(mono_ns()))

    ack = bench.say(290, 300)

    last_of_each = sorted(read_ns)[-2:]
    assert write_ns[0] <= ack.mono_ns <= last_of_each[0]


def test_a_board_that_does_not_answer_is_acked_as_unknown_and_not_by_its_last_reading(bench):
    silent = threading.Event()
    bench.boards[0].read_waits = [lambda: silent.wait(10)]
    began_ns = boot_ns()

    ack = bench.hold()

    assert boot_ns() - began_ns < 1e9
    assert [gpu.enforced_w for gpu in ack.gpus] == [None, 300]
    silent.set()
