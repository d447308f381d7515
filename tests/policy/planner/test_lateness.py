"""Meters that tell late, beside boards that never hold still."""

import numpy as np
import pytest
from small_world import site

from easyrider_policy.core.lateness import Lateness
from easyrider_policy.core.walls import Walls

BOARDS, SECONDS = 32, 90


def swinging(seconds):
    """(columns, boards) watts of jobs that compute and wait in turn: nothing is quiet for two seconds."""
    at_s = 0.1 * np.arange(seconds * 10)[:, None]
    period_s = np.repeat([2.1, 3.3, 4.7, 2.9], BOARDS // 4)
    return np.where((at_s / period_s) % 1.0 < 0.75, 600.0, 260.0)


def told(wall_w, late):
    """What a meter shows each second: means of a second that ended `late` columns ago, in steps of 10 W."""
    ends = np.arange(10, len(wall_w) + 1, 10) - late
    return np.array([np.round(wall_w[e - 10 : e].mean(), -1) if e >= 10 else np.nan for e in ends])


@pytest.mark.parametrize("late", [0, 7, 23])
def test_how_late_a_meter_tells_is_found_by_what_boards_drew(late):
    part_w = 1.23 * swinging(SECONDS).sum(axis=1)
    meter_w, lateness = told(part_w + 7000.0, late), Lateness(1)

    for second in range(SECONDS):
        lateness.add(part_w[second * 10 : second * 10 + 10, None])
        beside = lateness.hear(meter_w[second : second + 1])

    assert lateness.columns[0] == late
    assert beside.clear[0]
    assert beside.watts[0] == pytest.approx(7000.0, abs=30.0)


def test_a_meter_that_averages_for_long_teaches_nothing_reading_by_reading():
    part_w = 1.23 * swinging(SECONDS).sum(axis=1)
    smooth_w = np.convolve(part_w, np.full(150, 1 / 150))[: len(part_w)] + 7000.0
    lateness = Lateness(1)

    for second in range(SECONDS):
        lateness.add(part_w[second * 10 : second * 10 + 10, None])
        beside = lateness.hear(smooth_w[second * 10 + 9 : second * 10 + 10])

    assert not beside.clear[0]


def watched(neighbour_w, late=8):
    """Walls of a site whose first PDU has a meter and a neighbour of `neighbour_w` (seconds,) beside busy boards."""
    fleet = site()
    walls, board_w = Walls(fleet), swinging(len(neighbour_w))
    walls_w = board_w @ np.where(np.arange(BOARDS) < 16, 1.23, 0.0) + 3200.0 + np.repeat(neighbour_w, 10)
    meter_w = told(walls_w, late)
    for second, shown_w in enumerate(meter_w):
        walls.add(board_w[second * 10 : second * 10 + 10])
        walls.meters(np.array([np.nan, shown_w, np.nan]), 1.0)
        yield float(walls.standing_w(np.zeros(3))[1])


def test_a_neighbour_that_comes_counts_within_four_seconds_though_no_board_is_ever_quiet():
    neighbour_w = np.where(np.arange(SECONDS) < 60, 0.0, 1500.0)

    standing_w = list(watched(neighbour_w))

    assert standing_w[59] == pytest.approx(3200.0, abs=150.0)
    assert standing_w[64] >= 4600.0


def test_a_neighbour_that_goes_is_believed_gone_slowly():
    neighbour_w = np.where(np.arange(120) < 60, 1500.0, 0.0)

    standing_w = list(watched(neighbour_w))

    assert standing_w[63] >= 4200.0
    assert standing_w[119] <= 3450.0
