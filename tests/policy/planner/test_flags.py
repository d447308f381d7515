"""Boards whose sensors read low, and what they say of themselves."""

import numpy as np
from small_world import MAX_W, World, load, site

from easyrider_policy.core.flags import HOLDS_S, Flags

A, B, C, D = range(0, 8), range(8, 16), range(16, 24), range(24, 32)
LOW_GAIN = np.where(np.arange(32) < 8, 0.95, 1.0)


def told_once_a_second(world):
    """Boards of a capped job say so, as it is in the last column of a second, which may be one of waiting."""
    real_add = world.observation.add

    def add(now_s, mean_w, limit_w):
        return real_add(now_s, mean_w, limit_w, mean_w[-1] >= 0.94 * limit_w)

    world.observation.add = add


def squeezed(tells):
    """The planned peak of a job of 640 W whose sensors read 5 % low, after limits that went down and up."""
    jobs = [load(name, rows, 640.0, busy=0.7) for name, rows in zip("abcd", (A, B, C, D), strict=True)]
    world = World(site(), jobs, gain=LOW_GAIN)
    if tells:
        told_once_a_second(world)
    for limit_w in (MAX_W, 420.0, 380.0, 420.0, 360.0, 400.0, 340.0, 380.0):
        world.limit_w[:] = limit_w
        for _ in range(20):
            world.now_s += 1.0
            world.observation.add(world.now_s, world.columns() * world.gain, world.limit_w)
    return float(world.observation.peaks.peak_w[0])


def test_a_sensor_that_reads_low_makes_no_small_job_of_one_that_its_boards_say_is_capped():
    assert squeezed(tells=True) >= 0.93 * 640.0


def test_without_a_word_of_the_boards_the_same_readings_pass_for_a_peak():
    assert squeezed(tells=False) < 0.8 * 640.0  # else the test above shows nothing


def test_what_a_board_said_holds_while_it_waits_and_not_under_a_higher_limit():
    flags, cap_w = Flags(1), np.array([400.0])
    flags.add(np.array([True]), cap_w, 0.1)

    flags.add(np.array([False]), cap_w, HOLDS_S - 1.0)

    assert flags.near_w(cap_w)[0] < 0.92 * 400.0
    assert flags.near_w(np.array([500.0]))[0] > 0.96 * 500.0
    flags.add(np.array([False]), cap_w, 2.0)
    assert flags.near_w(cap_w)[0] > 0.96 * 400.0
