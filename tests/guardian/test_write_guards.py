"""What stands between an accepted command and the driver, each guard by itself."""

import importlib.util
import os
import time
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from threading import Event

import pytest

from easyrider.messages import GpuLimit
from easyrider_guardian.adapters.board_worker import BoardWorker
from easyrider_guardian.adapters.clocks import boot_ns
from easyrider_guardian.adapters.write_log import WriteLog
from easyrider_guardian.core import repair, vector
from easyrider_guardian.core.orders import Order
from easyrider_guardian.core.records import Holding, Reading

SPEC = importlib.util.spec_from_file_location("bench", Path(__file__).parent / "bench.py")
bench_module = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(bench_module)


@pytest.fixture
def bench(tmp_path):
    made = bench_module.Bench(tmp_path / "guardian")
    made.go_until(lambda: len(made.node.views) == 2)
    yield made
    made.open()


def failed_thrice(bench, board):
    bench.node.views[board].record = repair.Record(mismatches=repair.QUARANTINE_AFTER)


def test_a_write_held_up_before_the_driver_is_not_begun_once_a_newer_command_was_accepted(bench):
    bench.say(300, 300)
    held_up, go_on = Event(), Event()
    # The look passes, the read before the write hangs: the write is under way and can not be cancelled.
    bench.boards[0].read_waits = [None, lambda: (held_up.set(), go_on.wait(10))]
    bench.say(500, 300)
    assert held_up.is_set()

    bench.say(300, 300)
    go_on.set()
    bench.go_until(lambda: bench.node.reading("GPU-0", boot_ns()) is not None)

    assert bench.boards[0].writes == [300]


def test_the_command_is_on_disk_before_the_first_write_of_it(bench, monkeypatch):
    done, fsync = [], os.fsync

    def noted_fsync(descriptor):
        fsync(descriptor)
        done.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    for board in bench.boards:
        board.gate.wait = lambda _timeout_s: done.append("write")

    bench.say(300, 300)

    before = done[: done.index("write")]
    assert before == ["baseline.new", "guardian", "state.new", "guardian"]


def test_a_quarantined_board_falls_and_never_rises(bench):
    bench.say(400, 400)
    failed_thrice(bench, "GPU-0")

    raised = bench.say(500, 400)
    failed_thrice(bench, "GPU-0")
    lowered = bench.say(300, 400)

    assert raised.gpus[0].refused == "quarantined"
    assert lowered.gpus[0].refused is None
    assert bench.boards[0].writes == [400, 300]


def test_the_dead_man_does_not_raise_a_quarantined_board_either():
    seen = Reading(min_w=200, max_w=700, default_w=700, requested_w=250, enforced_w=250)
    held, bad = Holding(present_w=300, fallback_w=300), repair.Record(mismatches=repair.QUARANTINE_AFTER)

    assert repair.due(held, seen, repair.Record(), 2, 0) == 300
    assert repair.due(held, seen, bad, 2, 0) is None
    assert repair.due(replace(held, present_w=220), seen, bad, 2, 0) == 220


def test_a_vector_may_lower_a_board_that_may_only_fall():
    seen = Reading(min_w=200, max_w=700, default_w=700, requested_w=400, enforced_w=400)

    def refused(limit_w):
        limit = GpuLimit(uuid="a", limit_w=limit_w, fallback_w=None)
        (entry,) = vector.weigh([limit], {"a": seen}, {}, {}, {}, frozenset({"a"}))
        return entry.refused

    assert (refused(500), refused(300)) == ("quarantined", None)


def test_an_exit_grant_that_is_late_at_the_write_restores_nothing(bench):
    bench.say(300, 300)
    for board in bench.boards:
        board.read_waits = [None, lambda: time.sleep(0.3)]  # the look passes, then the driver is slow

    ack = bench.grant_exit(ttl_s=0.25)

    assert ack.accepted
    assert {gpu.refused for gpu in ack.gpus} == {"stale_nonce"}
    assert [board.writes for board in bench.boards] == [[300], [300]]
    assert bench.node.armed


def test_a_restore_raises_nothing_where_a_board_did_not_fall(bench):
    bench.boards[1].requested_w = 250  # what is found is a low limit, and under command it is a higher one
    bench.say(300, 500)
    bench.boards[1].deaf = True

    ack = bench.grant_exit()

    assert [gpu.refused for gpu in ack.gpus] == ["lower_unverified", "not_verified"]
    assert bench.boards[0].writes == [300]
    assert bench.boards[1].writes == [500, 250]


def test_a_restore_lowers_before_it_raises(bench):
    bench.boards[1].requested_w = 250
    bench.say(300, 500)
    raised_while_w = []
    write = bench.boards[0].write
    bench.boards[0].write = lambda limit_w: (
        raised_while_w.append(bench.boards[1].requested_w),
        write(limit_w),
    )
    bench.boards[1].read_waits = [None, lambda: time.sleep(0.1)]  # the lower takes its time

    bench.grant_exit()

    assert raised_while_w == [250]
    assert [board.requested_w for board in bench.boards] == [700, 250]


def test_a_write_for_a_board_that_is_at_another_index_now_is_not_made(tmp_path):
    driver = bench_module.fake_boards.FakeDriver(1)
    worker = BoardWorker(0, driver, WriteLog(tmp_path), SimpleQueue(), lambda: None)
    order = Order(
        uuid="GPU-7",
        limit_w=300,
        raises=False,
        cause="command",
        epoch=1,
        seq=1,
        mint_ns=0,
        ttl_s=1,
        permit=lambda _now_ns: None,
    )

    outcome = worker.write(order).result(5)

    assert outcome.problem == "moved"
    assert driver.boards[0].writes == []
    assert worker.write(replace(order, uuid="GPU-0")).result(5).verified
