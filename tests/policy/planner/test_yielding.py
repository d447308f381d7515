"""Who yields when limits ask for more than everybody's bounds allow, and in which order."""

from dataclasses import replace

import numpy as np
import pytest
from small_world import MIN_W, World, load, site
from test_allocate import question, with_budgets

from easyrider_policy.core.floors import LOW_USE, fitted

A, B, C, D = range(0, 8), range(8, 16), range(16, 24), range(24, 32)


def pushed(pdu_w, *loads, seconds=60):
    """The decision on one PDU of so many wall watts, everything else ample."""
    world = World(site(ups_w=80_000.0, pdu_w=pdu_w), list(loads))
    world.run(seconds)
    return world


def test_a_job_of_tier_0_keeps_its_natural_draw_while_others_can_be_slowed():
    world = pushed(
        17_600.0, load("service", A, 640.0, flex_tier=0), load("batch", B, 640.0, weight=8.0, flex_tier=10)
    )

    assert world.limit("service") >= 640.0
    assert world.decision.slowdown[0] == pytest.approx(0.0, abs=1e-3)
    assert world.decision.slowdown[1] > 0.05


def test_a_job_of_tier_0_yields_once_the_others_are_at_their_bounds():
    world = pushed(14_200.0, load("service", A, 640.0, flex_tier=0), load("batch", B, 640.0, flex_tier=10))

    slowdown = world.decision.slowdown
    assert 0.01 < slowdown[0] < 0.2
    assert slowdown[1] == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize("squeeze", [0.35, 0.42, 0.5])
def test_what_uses_its_boards_least_yields_first_below_its_bound(squeeze):
    problem = question(7, squeeze, scattered=False)
    jobs = problem.layout.job_count
    rare = np.arange(jobs) % 2 == 0
    problem = replace(problem, busy=np.where(rare, LOW_USE - 4, LOW_USE + 8))
    ample_w = 10.0 * problem.drawn_w(problem.top_w)
    only_the_site = np.arange(len(ample_w)) == 0
    least_w = np.full(jobs, MIN_W)
    problem = with_budgets(problem, np.where(only_the_site, problem.target_w, ample_w), 10.0 * ample_w)

    floors = fitted(problem, least_w, np.zeros(len(ample_w)))

    lowered = floors.watts < problem.floor_w - 1e-6
    assert lowered[rare].any()
    assert not lowered[~rare].any() or np.allclose(
        floors.watts[rare], np.minimum(MIN_W, problem.floor_w[rare])
    )


def test_latency_critical_work_keeps_its_least_speed_until_all_others_are_at_the_device_minimum():
    critical = load("critical", A, 640.0, weight=1.0, least_speed=0.7)
    world = pushed(11_800.0, critical, load("batch", B, 640.0, weight=8.0))

    assert world.limit("batch") < world.limit("critical")
    assert world.decision.slowdown[0] <= 0.31


def test_even_latency_critical_work_goes_to_the_minimum_when_nothing_else_fits():
    critical = load("critical", A, 640.0, least_speed=0.95)
    world = pushed(9_100.0, critical, load("batch", B, 640.0))

    assert world.limit("batch") == MIN_W
    assert world.decision.slowdown[0] > 0.3
    assert (world.wall_w <= world.fleet.aim_w * 1.001).all()


@pytest.mark.parametrize("pdu_w", np.linspace(9_000.0, 18_000.0, 7))
def test_whatever_classes_ask_for_no_limit_is_broken(pdu_w):
    world = pushed(
        pdu_w,
        load("a", A, 640.0, flex_tier=0, least_speed=0.9),
        load("b", B, 600.0, flex_tier=50, weight=4.0, busy=0.4),
        seconds=40,
    )

    told_w = world.decision.missing_w
    assert (world.wall_w <= world.fleet.aim_w * 1.001 + told_w).all()


def test_among_equals_the_more_flexible_yields_first():
    world = pushed(13_300.0, load("stiff", A, 640.0, flex_tier=10), load("loose", B, 640.0, flex_tier=50))

    assert world.decision.slowdown[1] > 0.22
    assert world.decision.slowdown[0] <= 0.21
