"""What went wrong at other sites with caps and readings, as it must go here: the planner's part."""

import numpy as np
import pytest
from small_world import MIN_W, PDU_A, SLOPE, UPS, World, load, site

from easyrider_policy.core.history import alarms

A, B = range(8), range(8, 16)


def wanted_w(world: World, name: str) -> np.ndarray:
    """What is asked of a job's boards."""
    rows = next(list(one.job.gpus) for one in world.loads if one.job.id == name)
    return world.decision.wanted_w[rows]


def test_b005_a_budget_below_the_minimum_asks_for_the_minimum_and_says_what_is_missing():
    world = World(site(), [load("a", range(16), 640.0)])
    world.run(30)
    least_w = float(world.fleet.wall_w(np.full(32, MIN_W))[PDU_A])
    short_w = 16 * 50.0 * SLOPE  # as if 150 W a board were asked for
    world.share[PDU_A] = (least_w - short_w) / world.fleet.aim_w[PDU_A]

    world.run(30)

    assert wanted_w(world, "a").tolist() == [MIN_W] * 16
    assert world.reason("a") == "infeasible:pdu-a"
    assert world.decision.missing_w[PDU_A] == pytest.approx(short_w, rel=0.02)


def test_b010_a_cut_that_lets_a_card_draw_more_is_answered_by_a_sibling_of_lower_priority_within_two_seconds():
    important = load("important", A, 640.0, weight=4.0)
    other = load("other", B, 640.0, weight=1.0)
    world = World(site(pdu_w=17_500.0), [important, other])
    world.run(60)
    before_w = world.limit("other")
    world.overshoot[list(A)], important.peak_w = 1.3, 740.0  # the driver dropped the limit altogether

    alarmed = [bool(world.second().alarm[PDU_A]) for _ in range(2)]

    assert any(alarmed)
    assert world.limit("other") < before_w - 20.0


def test_b010_a_card_that_leaps_over_its_rating_is_an_alarm_within_two_samples():
    world = World(site(hard_is_target=("pdu-a",)), [load("a", A, 500.0), load("b", B, 500.0)])
    world.run(30)
    fleet, walls, zero = world.fleet, world.walls, np.zeros(3)
    calm = alarms(fleet, walls, fleet.aim_w, fleet.hard_w, zero)
    leaps_w = np.where(np.arange(32) < 16, 900.0, 75.0)[None, :]

    after = []
    for _ in range(2):
        walls.add(leaps_w)
        after.append(bool(alarms(fleet, walls, fleet.aim_w, fleet.hard_w, zero)[PDU_A]))

    assert not calm.any()
    assert any(after)


def test_b010_after_a_cut_that_lifted_the_limit_the_domain_is_back_under_its_target_without_that_card():
    important, other = load("important", A, 640.0, weight=4.0), load("other", B, 640.0, weight=1.0)
    world = World(site(pdu_w=17_500.0), [important, other])
    world.run(60)
    world.overshoot[list(A)], important.peak_w = 1.3, 740.0  # for as long as it lasts, it obeys nothing

    share = [float(world.second().observed_w[PDU_A] / world.fleet.aim_w[PDU_A]) for _ in range(40)]

    assert share[0] > 1.02
    assert np.convolve(share, np.full(10, 0.1), mode="valid")[-5:].max() <= 1.015
    assert world.limit("other") < world.limit("important")


def test_b011_a_card_that_something_else_holds_is_no_starving_one_and_nothing_swings():
    held, starving = load("held", A, 240.0), load("starving", B, 690.0)
    world = World(site(pdu_w=15_000.0), [held, starving])
    flags, add = np.ones(32, dtype=bool), world.observation.add
    world.observation.add = lambda now_s, mean_w, limit_w: add(now_s, mean_w, limit_w, flags)
    world.run(90)
    world.moves = 0

    limits = [world.second().job_limit_w.tolist() for _ in range(120)]

    held_w, starving_w = np.array(limits).T
    assert held_w.max() <= 1.25 * 240.0 + 1.0  # a margin on what it draws, whatever flag it shows
    assert world.reason("starving").startswith("target:")
    assert np.ptp(held_w) < 1.0
    assert np.ptp(starving_w) < 1.0
    assert world.moves == 0


def test_b014_a_board_without_a_reading_counts_its_limit_in_what_is_likely_drawn():
    world = World(site(), [load("a", A, 400.0)])
    world.run(20)
    seen_w = world.columns()
    seen_w[:, 2] = np.nan
    for _ in range(40):
        world.now_s += 1.0
        world.observation.add(world.now_s, seen_w, world.limit_w)

    believed_w = world.observation.believed_w(seen_w)

    assert np.isfinite(believed_w).all()
    assert believed_w[0, 2] > 0.0


def test_b017_a_hundred_milliseconds_above_the_hard_limit_are_answered_although_the_mean_obeys():
    world = World(site(hard_is_target=("ups",)), [load("a", A, 640.0), load("b", B, 640.0)])
    world.run(30)
    world.walls.newest[-1, UPS] = 2.0 * world.fleet.hard_w[UPS]

    world.plan()

    assert world.decision.alarm[UPS]
    assert world.walls.target_means_w()[UPS] < world.fleet.aim_w[UPS]
