"""Boards that hang, dawdle or fail, and the others beside them."""

import contextlib
import itertools
import threading
import time

import pytest
from fake_board import FakeBoard

from easyrider_telemetry.adapters.sampler import Sampler

PERIOD_S = 0.05


class Node:
    """A sampler over fake boards, watched as the event loop would watch it."""

    def __init__(self, boards: int) -> None:
        self.boards = [FakeBoard() for _ in range(boards)]
        self.rows, self.bursts = [], {}
        self.sampler = Sampler(PERIOD_S, self.rows.append, self.bursts.__setitem__)
        self.threads_before = threading.active_count()
        self.threads_most = 0
        self._stop = threading.Event()
        self._watch = threading.Thread(target=self._check, daemon=True)

    def _check(self) -> None:
        while not self._stop.wait(0.005):
            self.sampler.check(time.monotonic_ns())
            self.threads_most = max(self.threads_most, threading.active_count() - self.threads_before)

    def start(self) -> None:
        self.sampler.put(dict(enumerate(self.boards)))
        self._watch.start()

    def stop(self) -> None:
        self.sampler.stop()
        for board in self.boards:
            board.let_go()
        self._stop.set()
        self._watch.join()

    def common(self) -> list:
        return [row for row in self.rows if not row.alone]

    def alone(self, slot: int) -> list:
        return [row for row in self.rows if row.alone and row.fast and slot in row.fast]


@pytest.fixture
def node():
    with contextlib.ExitStack() as stack:

        def make(boards: int) -> Node:
            made = Node(boards)
            stack.callback(made.stop)
            made.start()
            return made

        yield make


def until(condition, within_s=5.0):
    deadline_s = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline_s, "in vain"
        time.sleep(0.005)


def test_every_healthy_board_is_in_every_row_on_an_absolute_grid(node):
    n = node(8)

    until(lambda: len(n.common()) >= 10)

    rows = n.common()[:10]
    assert all(list(row.fast) == list(range(8)) for row in rows)
    assert len({(row.tick_ns - rows[0].tick_ns) % n.sampler.period_ns for row in rows}) == 1


def test_the_counters_are_read_in_a_fast_burst_before_the_first_row(node):
    n = node(2)

    until(lambda: n.common())

    assert set(n.bursts) == {0, 1}
    assert len(n.bursts[0]) > 100


def test_each_board_gives_slow_readings_once_a_second_and_not_all_in_one_tick(node):
    n = node(8)

    until(lambda: len(n.common()) >= 41)

    slow = [list(row.slow) for row in n.common()[:40]]
    assert [sum(slots.count(slot) for slots in slow) for slot in range(8)] == [2] * 8
    assert max(len(slots) for slots in slow) == 1


@pytest.mark.parametrize("silent", [0, 3, 7])
def test_a_board_that_never_answers_costs_the_others_not_one_row(node, silent):
    n = node(8)
    until(lambda: len(n.common()) >= 3)
    n.boards[silent].hang()
    before = len(n.common())

    until(lambda: len(n.common()) >= before + 40)

    ticks = [row.tick_ns for row in n.common()[before : before + 40]]
    assert [b - a for a, b in itertools.pairwise(ticks)] == [n.sampler.period_ns] * 39
    for row in n.common()[before + 1 : before + 40]:
        assert list(row.fast) == [slot for slot in range(8) if slot != silent]


def test_a_hanging_board_has_one_call_under_way_and_threads_stay_few(node):
    n = node(8)
    until(lambda: n.common())
    for board in n.boards[2:5]:
        board.hang()

    before = len(n.common())
    until(lambda: len(n.common()) >= before + 30)

    assert max(board.most_under_way for board in n.boards) == 1
    assert n.threads_most <= 1 + 1 + 3  # the watch, the common lane, one each for the hanging ones
    assert set(n.sampler.outstanding_s(time.monotonic_ns())) == {2, 3, 4}


def test_a_board_that_answers_again_returns_to_the_common_rows(node):
    n = node(4)
    until(lambda: n.common())
    n.boards[1].hang()
    until(lambda: 1 in n.sampler.apart())

    n.boards[1].let_go()

    until(lambda: not n.sampler.apart())
    before = len(n.common())
    until(lambda: len(n.common()) > before + 3)
    assert list(n.common()[-1].fast) == [0, 1, 2, 3]


def test_a_slow_board_is_read_at_its_own_rate_and_does_not_set_the_pace(node):
    n = node(4)
    until(lambda: n.common())
    n.boards[2].delay_s = 0.2
    until(lambda: 2 in n.sampler.apart())
    before = len(n.common()), len(n.alone(2))

    until(lambda: len(n.common()) >= before[0] + 40)

    assert 5 <= len(n.alone(2)) - before[1] <= 12
    ticks = [row.tick_ns for row in n.common()[before[0] : before[0] + 40]]
    assert max(b - a for a, b in itertools.pairwise(ticks)) == n.sampler.period_ns


def test_a_board_that_hangs_before_the_first_row_does_not_delay_the_others(node):
    n = Node(4)
    n.boards[0].hang()
    try:
        n.start()

        until(lambda: len(n.common()) >= 5)

        assert list(n.common()[-1].fast) == [1, 2, 3]
        assert set(n.bursts) == {1, 2, 3}
    finally:
        n.stop()


def test_a_board_that_fails_is_asked_once_a_second_only(node):
    n = node(2)
    until(lambda: n.common())
    n.boards[0].code = 15
    calls, began_s = n.boards[0].calls, time.monotonic()

    before = len(n.common())
    until(lambda: len(n.common()) >= before + 50)

    assert n.boards[0].calls - calls <= 2 + (time.monotonic() - began_s)


def test_all_boards_hanging_still_gives_rows_that_say_nothing(node):
    n = node(2)
    until(lambda: n.common())
    for board in n.boards:
        board.hang()

    until(lambda: n.sampler.apart() == {0, 1})
    before = len(n.common())
    until(lambda: len(n.common()) >= before + 3)

    assert n.common()[-1].fast == {}
