"""Power-speed curves learned from iteration periods: told apart, bounded, and used by the planner."""

import numpy as np
import pytest
from small_world import World, load, site
from test_ahead import told

from easyrider_policy.core import curves
from easyrider_policy.core.ahead import foresee
from easyrider_policy.core.learned_curves import STEEP_SHAPE, LearnedCurves

FULL = curves.BUSY_CLASSES - 1
A, B, C, D = range(0, 8), range(8, 16), range(16, 24), range(24, 32)


def taught(shape, ratios=(1.0, 0.9, 0.8, 0.7), noise=0.005, rounds=40, busy=FULL, free_s=2.0):
    """Curves of one job of this true shape, after so many periods under each limit in turn."""
    learned = LearnedCurves(np.array([700.0]))
    listen(learned, shape, ratios, noise, rounds, busy, free_s)
    return learned


def listen(learned, shape, ratios, noise=0.005, rounds=40, busy=FULL, free_s=2.0):
    rng = np.random.default_rng(shape)
    for _ in range(rounds):
        for ratio in ratios:
            speed = curves.speed_of_shapes(np.array([ratio]), np.array([busy]))[shape, 0]
            period_s = free_s / speed * np.exp(rng.normal(0.0, noise))
            learned.hear(np.array([0]), np.array([period_s]), np.array([ratio]), np.array([busy]))


@pytest.mark.parametrize("shape", range(curves.SHAPES))
@pytest.mark.parametrize("busy", [FULL, 24])
def test_periods_under_four_limits_tell_the_curve_within_one_shape_of_the_truth(shape, busy):
    learned = taught(shape, rounds=120, busy=busy)

    assert learned.trusted[0]
    assert abs(curves.STEEPNESS[learned.shape[0]] - curves.STEEPNESS[shape]) <= 0.25


def test_one_limit_alone_teaches_nothing():
    learned = taught(7, ratios=(0.7,), rounds=500)

    assert not learned.trusted[0]
    assert learned.shape[0] == 0


def test_periods_that_wander_teach_nothing():
    learned = taught(7, noise=0.3, rounds=200)

    assert learned.shape[0] == 0


def test_a_curve_moves_one_shape_at_a_time():
    learned = LearnedCurves(np.array([700.0]))
    steps = [0.0]
    for _ in range(100):
        listen(learned, 7, (1.0, 0.8, 0.65), rounds=1)
        steps.append(curves.STEEPNESS[learned.shape[0]])

    assert steps[-1] >= 0.75
    assert np.abs(np.diff(steps)).max() <= 0.25


def test_another_program_under_the_same_name_is_learned_anew():
    learned = taught(7, rounds=100)
    listen(learned, 1, (1.0, 0.9, 0.8, 0.7), rounds=150, free_s=9.0)

    assert curves.STEEPNESS[learned.shape[0]] <= -0.5


@pytest.mark.parametrize("period_s", [0.0, -1.0, float("nan"), float("inf"), 1e9])
def test_a_period_that_can_be_none_is_left_aside(period_s):
    learned = taught(0, rounds=20)
    before = learned.heard.copy(), learned.sums.copy()

    learned.hear(np.array([0]), np.array([period_s]), np.array([0.8]), np.array([FULL]))

    assert (learned.heard == before[0]).all()
    assert (learned.sums == before[1]).all()


def test_boards_of_three_hundred_watts_begin_with_the_steeper_curve_they_were_measured_to_have():
    learned = LearnedCurves(np.array([300.0, 700.0]))

    assert learned.shape.tolist() == [STEEP_SHAPE, 0]


@pytest.mark.parametrize("shape", range(curves.SHAPES))
def test_every_curve_of_the_bank_rises_and_is_concave_so_whatever_is_learned_prices_still_find_the_optimum(
    shape,
):
    ratio = np.linspace(0.25, 1.0, 60)
    speed = curves.speed(ratio, np.full(60, shape * curves.BUSY_CLASSES + FULL))

    assert (np.diff(speed) > 0).all()
    assert (np.diff(speed, 2) <= 1e-6).all()
    assert speed[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("shape", range(curves.SHAPES))
def test_a_floor_runs_at_the_speed_it_was_made_for_on_every_curve(shape):
    classes = np.array([shape * curves.BUSY_CLASSES + 28])
    share = curves.least_share(np.array([0.85]), classes)

    assert curves.speed(share, classes)[0] == pytest.approx(0.85, abs=2e-3)


def test_the_job_that_loses_more_by_a_watt_gets_more_watts_once_that_is_learned():
    world = World(
        site(ups_w=33_000.0),
        [load(name, rows, 640.0) for name, rows in zip("abcd", (A, B, C, D), strict=True)],
    )
    world.run(40)
    before_w = world.limit("a") - world.limit("b")
    world.observation.learned.shape[:] = [6, 1, 0, 0]
    world.observation.learned.version += 1
    world.run(60)

    assert abs(before_w) < 5.0
    assert world.limit("a") > world.limit("b") + 40.0


def test_a_forecast_that_tells_the_iteration_period_teaches_where_the_limit_has_stood_still():
    world = World(
        site(ups_w=33_000.0),
        [load(name, rows, 640.0) for name, rows in zip("abcd", (A, B, C, D), strict=True)],
    )
    world.run(20)
    foresee(world.observation, told("a", 640.0, period_s=3.0), world.now_s)
    early = float(world.observation.learned.heard[0])
    world.run(60)
    foresee(world.observation, told("a", 640.0, period_s=3.0), world.now_s)

    assert early == 0.0
    assert world.observation.learned.heard[0] == 1.0


def test_what_was_learned_of_a_job_stays_when_another_job_comes():
    loads = [load("a", A, 640.0), load("b", B, 640.0)]
    world = World(site(), loads)
    world.run(3)
    listen(world.observation.learned, 6, (1.0, 0.8, 0.7), rounds=60)
    shape = int(world.observation.learned.shape[0])
    world.loads.append(load("c", C, 640.0))
    world.jobs_changed()

    assert shape != 0
    assert world.observation.learned.shape.tolist() == [shape, 0, 0]
    assert world.observation.curve_classes[0] // curves.BUSY_CLASSES == shape
