"""What is believed of a board's readings."""

import pytest
from fake_board import failed, fast, slow

from easyrider import quality
from easyrider_telemetry.core.board import BoardDesk
from easyrider_telemetry.core.pace import Pace

S = 1_000_000_000
TICK = S // 10


def desk(max_w=450.0, pace="stamped"):
    made = BoardDesk(0.1, max_w)
    if pace is not None:
        made.energy.start(Pace(kind=pace, period_s=0.1))
    return made


def watch(board, count, power_w=lambda k: 300.0 + k % 3, joules=lambda k: 30.0 * k, begin=0, **other):
    """`count` looks at 10 Hz; the counter steps with every look and says so."""
    cells = []
    for k in range(begin, begin + count):
        at = 1000 * S + k * TICK
        stamps = {"power_stamp_us": at // 1000, "energy_stamp_us": at // 1000}
        cells.append(board.look(fast(at, power_w(k), round(joules(k) * 1000), **(stamps | other)), at))
    return cells


POWER, POWER_OK, MEAN, MEAN_OK, ENERGY, ENERGY_OK, LIMIT, LIMIT_OK, AGE = range(9)


def test_watts_far_over_the_boards_maximum_are_refused_and_counted():
    series = [212.0, 3700.0, 3704.118, 214.0]

    cells = watch(desk(), 4, power_w=series.__getitem__)

    assert [c[POWER_OK] for c in cells] == [0, quality.OUT_OF_RANGE, quality.OUT_OF_RANGE, 0]
    assert [c[POWER] for c in cells] == [212.0, 0.0, 0.0, 214.0]


def test_refused_readings_are_counted_by_reason():
    board = desk()

    watch(board, 2, power_w=lambda k: 3700.0)
    watch(board, 1, begin=2, power_ok=quality.BLANK)

    assert board.rejected == {"out_of_range": 2, "blank": 1}


def test_a_board_without_a_power_reading_shows_missing_and_never_zero_as_valid():
    cells = watch(desk(), 3, power_w=lambda k: 0.0, power_ok=quality.MISSING)

    assert {c[POWER_OK] for c in cells} == {quality.MISSING}


def test_a_counter_that_steps_back_gives_no_mean_and_never_a_negative_one():
    joules = [900.0, 950.0, 880.0, 930.0]
    board = desk(max_w=700.0)

    cells = watch(board, 4, joules=joules.__getitem__, power_w=lambda k: 500.0 + k)

    assert [c[MEAN_OK] == quality.VALID for c in cells] == [False, True, False, True]
    assert board.energy.total_j == pytest.approx(100.0)
    assert board.energy.resets == 1


def test_a_step_of_the_counter_that_no_board_can_draw_is_refused():
    joules = [0.0, 30.0, 3.7e12, 3.7e12 + 30]
    board = desk()

    cells = watch(board, 4, joules=joules.__getitem__)

    assert [c[MEAN_OK] for c in cells] == [quality.MISSING, 0, quality.OUT_OF_RANGE, 0]
    assert board.energy.total_j == pytest.approx(60.0)


def test_a_frozen_counter_is_noticed_within_three_periods_and_the_total_runs_on():
    board = desk()
    watch(board, 10, power_w=lambda k: 250.0 + k % 2, joules=lambda k: 25.0 * k)
    before_j = board.energy.total_j

    cells = watch(board, 50, power_w=lambda k: 250.0 + k % 2, joules=lambda k: 25.0 * 9, begin=10)

    assert [c[ENERGY_OK] for c in cells].index(quality.STUCK) <= 3
    assert cells[-1][MEAN] == pytest.approx(250.5, abs=1)
    assert board.energy.method == "integrated"
    assert board.energy.total_j - before_j == pytest.approx(250.5 * 5, rel=0.02)


def test_a_counter_that_moves_again_does_not_count_the_integrated_energy_twice():
    board = desk()
    watch(board, 10, power_w=lambda k: 250.0 + k % 2, joules=lambda k: 25.0 * k)
    watch(board, 50, power_w=lambda k: 250.0 + k % 2, joules=lambda k: 25.0 * 9, begin=10)

    watch(board, 40, power_w=lambda k: 250.0 + k % 2, joules=lambda k: 25.0 * k, begin=60)

    assert board.energy.method == "counter"
    assert board.energy.total_j == pytest.approx(250.0 * 10, rel=0.03)


def test_without_a_counter_energy_is_integrated_and_a_gap_is_reported_not_filled():
    board = BoardDesk(1.0, 450.0)
    for k in range(1200):
        if not 600 <= k < 630:
            at = 1000 * S + k * S
            board.look(fast(at, 180.0, energy_ok=quality.MISSING), at)

    watt_hours = board.energy.total_j / 3600
    assert 58.4 <= watt_hours <= 60.0
    assert board.energy.method == "integrated"
    assert board.energy.gap_s == pytest.approx(31, abs=1)


def test_a_flat_power_field_is_stuck_when_the_counter_tells_another_story():
    board = desk()

    cells = watch(board, 150, power_w=lambda k: 100.0, joules=lambda k: 30.0 * k)

    assert cells[90][POWER_OK] == quality.VALID
    assert cells[-1][POWER_OK] == quality.STUCK
    assert cells[-1][MEAN] == pytest.approx(300.0)


def test_a_flat_power_field_is_stuck_when_the_board_warms():
    board = desk(pace=None)
    cells = []
    for k in range(200):
        at = 1000 * S + k * TICK
        if k % 10 == 0:
            board.slow(slow(at, temperature_c=40 + k // 20))
        cells.append(board.look(fast(at, 100.0, energy_ok=quality.MISSING), at))

    assert cells[-1][POWER_OK] == quality.STUCK


def test_a_flat_idle_board_is_not_stuck():
    board = desk()

    cells = watch(board, 300, power_w=lambda k: 75.0, joules=lambda k: 7.5 * k)

    assert {c[POWER_OK] for c in cells} == {quality.VALID}


def test_a_stuck_field_is_believed_again_once_it_moves():
    board = desk()
    watch(board, 150, power_w=lambda k: 100.0, joules=lambda k: 30.0 * k)

    cells = watch(board, 2, power_w=lambda k: 299.0 + k, joules=lambda k: 30.0 * k, begin=150)

    assert cells[-1][POWER_OK] == quality.VALID


def test_counter_and_field_apart_for_a_minute_are_told_with_both_values():
    board = desk()

    watch(board, 690, power_w=lambda k: 65.0 + k % 2, joules=lambda k: 3.7 * k)

    assert board.tally.agreement.apart
    assert board.tally.agreement.counter_w == pytest.approx(37, abs=1)
    assert board.tally.agreement.field_w == pytest.approx(65.5, abs=1)


@pytest.mark.parametrize("util_pct", [4294967295, 180000, 101])
def test_nonsense_utilisation_is_refused(util_pct):
    board = desk()
    watch(board, 2)
    now = 1000 * S + TICK

    board.slow(slow(now, util_pct=util_pct))

    assert board.slow_cells(now).ok == quality.OUT_OF_RANGE
    assert board.slow_cells(now).util_pct == 0


def test_slow_readings_older_than_three_seconds_are_missing():
    board = desk()
    board.slow(slow(1000 * S))
    watch(board, 60)

    assert board.slow_cells(1000 * S + 2 * S).ok == quality.VALID
    assert board.slow_cells(1000 * S + 3 * S + TICK).ok == quality.MISSING


def test_ten_seconds_hold_mean_and_highest_and_forget_what_is_older():
    board = desk()
    board.slow(slow(1000 * S))
    watch(board, 10, power_w=lambda k: 440.0)
    watch(board, 200, begin=10, power_w=lambda k: 300.0 + k % 2)
    board.slow(slow(1020 * S))

    cells = board.slow_cells(1000 * S + 209 * TICK)

    assert cells.mean10_w == pytest.approx(300.0)
    assert cells.max10_w == pytest.approx(301.0)


def test_age_grows_while_the_sensor_shows_nothing_new():
    board = desk(pace=None)

    ages = [
        board.look(fast(1000 * S + k * TICK, 300.0 if k < 5 else 301.0, energy_ok=1), 1000 * S + k * TICK)[
            AGE
        ]
        for k in range(7)
    ]

    assert ages == [0, 100, 200, 300, 400, 0, 100]


def test_a_lost_board_is_silent_and_a_refused_limit_alone_is_not():
    board = desk()

    board.look(failed(1000 * S, 15), 1000 * S)
    assert board.silent

    board.look(fast(1001 * S, limit_ok=quality.MISSING, code=999), 1001 * S)
    assert not board.silent


def test_a_board_not_read_in_time_has_missing_cells():
    cells = desk().look(None, 0)

    assert (cells[POWER_OK], cells[MEAN_OK], cells[ENERGY_OK], cells[LIMIT_OK]) == (quality.MISSING,) * 4


def test_an_enforced_limit_of_zero_is_no_limit():
    assert watch(desk(), 1, limit_mw=0)[0][LIMIT_OK] == quality.OUT_OF_RANGE
