"""Boards slowed by something that is not our limit: heat, and limiters that nobody told of."""

import numpy as np
from small_world import MAX_W, World, load, site

from easyrider_policy.core.cooling import drains
from easyrider_policy.core.limiters import AFTER_S, COOLS_S, HEAT_AFTER_S, Limiters

A, B, C, D = range(0, 8), range(8, 16), range(16, 24), range(24, 32)
FLAG, CALM = np.array([True]), np.array([False])


def four(peak_w=640.0):
    return [load(name, rows, peak_w) for name, rows in zip("abcd", (A, B, C, D), strict=True)]


def slowed(world, slow, capped=None, hot=None):
    """From now on `slow` changes what is read of boards, given (k, G) means and (G,) limits; with these flags."""
    real_add = world.observation.add

    def add(now_s, mean_w, limit_w):
        seen_w = mean_w.copy()
        slow(seen_w, limit_w)
        flags = None if capped is None else capped(seen_w, limit_w)
        return real_add(now_s, seen_w, limit_w, flags, hot and hot(now_s))

    world.observation.add = add


def test_b011_a_board_flagged_far_below_its_limit_is_not_ours_gets_no_more_watts_and_teaches_no_low_demand():
    world = World(site(), four())
    world.run(80)
    before_w, peak_w = world.limit("a"), world.observation.peak_w[0]

    def other_limiter(seen_w, limit_w):
        seen_w[:, 0:8] = np.minimum(seen_w[:, 0:8], 0.6 * limit_w[0:8])

    def capped(seen_w, limit_w):
        return (seen_w.max(axis=0) > 0.95 * limit_w) | (np.arange(32) < 8)

    slowed(world, other_limiter, capped)
    world.run(90)

    assert world.reason("a") == "held"
    assert world.observation.limiters.other.tolist() == [True] * 8 + [False] * 24
    assert world.limit("a") <= before_w + 1.0
    assert world.limit("a") >= 0.9 * before_w  # its draw follows the limit down: no spiral
    assert world.observation.peak_w[0] >= peak_w


def test_b011_a_sibling_flagged_near_its_limit_is_capped_by_us():
    limiters = Limiters(2)
    for _ in range(100):
        limiters.add(np.array([240.0, 395.0]), np.array([400.0, 400.0]), np.array([True, True]), None, 0.1)

    assert limiters.other.tolist() == [True, False]


def test_a_short_wait_under_a_flag_of_a_second_ago_is_no_other_limiter():
    limiters = Limiters(1)
    for step in range(200):
        draw_w = 395.0 if step % 30 == 0 else 200.0
        limiters.add(np.array([draw_w]), np.array([400.0]), FLAG, None, 0.1)
        assert not limiters.other[0]


def test_what_an_unknown_limiter_let_go_is_ours_again_at_once():
    limiters = Limiters(1)
    for _ in range(60):
        limiters.add(np.array([240.0]), np.array([400.0]), FLAG, None, 0.1)
    held = bool(limiters.other[0])
    limiters.add(np.array([240.0]), np.array([400.0]), CALM, None, 0.1)

    assert held
    assert not limiters.other[0]


def test_an_unread_board_is_held_by_nothing():
    limiters = Limiters(1)
    for _ in range(100):
        limiters.add(np.array([np.nan]), np.array([400.0]), FLAG, FLAG, 0.1)

    assert not limiters.held[0]


def test_a_hot_board_is_held_where_it_can_be_cooled_its_job_follows_and_its_watts_go_to_others():
    world = World(site(), four())
    world.run(80)
    before_w, peak_w, cools_s = world.limit("b"), world.observation.peak_w[0], world.now_s + 70

    def heat(seen_w, limit_w):
        if world.now_s < cools_s:
            seen_w[:, 0:8] = np.minimum(seen_w[:, 0:8], 330.0)

    slowed(world, heat, hot=lambda now_s: (np.arange(32) == 0) & (now_s < cools_s))
    world.run(60)
    hot_w, given_w = world.limit("a"), world.limit("b")
    reason = world.reason("a")
    world.run(10 + int(COOLS_S) + 60)

    assert 330.0 < hot_w < 1.2 * 330.0
    assert reason == "held"
    assert given_w > before_w + 20.0
    assert world.limit("a") > hot_w + 30.0
    assert world.observation.peak_w[0] >= peak_w


def test_heat_holds_after_three_seconds_and_until_half_a_minute_of_calm():
    limiters = Limiters(1)
    draw_w, limit_w = np.array([300.0]), np.array([MAX_W])

    def held_after(seconds, flag):
        for _ in range(round(seconds * 10)):
            limiters.add(draw_w, limit_w, None, flag, 0.1)
        return bool(np.isfinite(limiters.heat_w[0]))

    assert not held_after(HEAT_AFTER_S - 0.5, FLAG)
    assert held_after(1.0, FLAG)
    assert held_after(COOLS_S - 1.0, CALM)
    assert not held_after(2.0, CALM)


def test_a_board_that_was_hot_for_a_moment_is_slowed_no_longer_than_that_moment():
    limiters = Limiters(1)
    draw_w, limit_w = np.array([300.0]), np.array([MAX_W])
    for flag in (FLAG, CALM, CALM):
        limiters.add(draw_w, limit_w, None, flag, 0.1)

    assert not limiters.slowed[0], "a job that waits there would never be seen to wait"


def test_a_wavering_draw_under_heat_moves_no_ceiling():
    limiters, rng = Limiters(1), np.random.default_rng(1)
    seen = set()
    for step in range(1200):
        limiters.add(np.array([330.0 + rng.normal(0, 4)]), np.array([MAX_W]), None, FLAG, 0.1)
        if step > 10 * (HEAT_AFTER_S + AFTER_S):
            seen.add(float(limiters.heat_w[0]))

    assert len(seen) == 1


def test_a_hot_node_is_advised_to_be_drained_to_cooler_nodes_that_have_room():
    fleet = site()
    heat = np.zeros(32, dtype=bool)
    heat[[0, 1]] = True
    celsius = np.repeat([86.0, 60.0, 52.0, np.nan], 8)
    idle = np.zeros(32, dtype=bool)
    idle[8:10] = idle[16:24] = idle[24:] = True

    advice = drains(fleet, heat, celsius, idle)

    assert [(one.node, one.boards, one.hottest_c, one.to) for one in advice] == [
        ("n0", 2, 86.0, ("n2", "n1"))
    ]


def test_where_no_board_is_hot_there_is_no_advice():
    fleet = site()

    assert drains(fleet, np.zeros(32, dtype=bool), np.full(32, 60.0), np.ones(32, dtype=bool)) == ()
