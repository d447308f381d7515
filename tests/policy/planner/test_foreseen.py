"""A domain that is forecast to cross its target is held back before it does."""

import dataclasses

import numpy as np
import pytest
from small_world import PDU_A, PDU_B, SLOPE, UPS, World, load, site

from easyrider.messages import HorizonForecast, SeriesForecast
from easyrider_policy.core.foreseen import CROSSES, HOLDS_S, Foreseen, kept_back_w

A, B, C, D = range(0, 8), range(8, 16), range(16, 24), range(24, 32)


def told(mean_w, domain="ups", gpus=32, confidence=0.9, basis="observed"):
    """A forecast of a domain: `mean_w` of its boards over ten seconds, twice that over the first two."""
    rows = tuple(
        HorizonForecast(horizon_s=s, mean_w=w, peak_w=w, peak_q90_w=w, peak_q99_w=w)
        for s, w in ((1.0, 2 * mean_w), (2.0, 2 * mean_w), (10.0, mean_w), (30.0, 0.1 * mean_w))
    )
    return (
        SeriesForecast(
            scope="domain", id=domain, gpu_count=gpus, draw=rows, demand=rows, period_s=None,
            confidence=confidence, reasons=(), model="sum_of_jobs", censored=0.0, basis=basis,
        ),
    )  # fmt: skip


def crossing(share, confidence=0.9):
    """A steady site, and a forecast that the UPS draws this share of its target in ten seconds."""
    world = World(
        site(), [load(n, r, 640.0) for n, r in zip("abcd", (A, B, C, D), strict=True)], confidence=confidence
    )
    world.run(60)
    standing_w = world.walls.standing_w(np.zeros(3))
    mean_w = (share * world.fleet.aim_w[UPS] - standing_w[UPS]) / SLOPE
    seen = Foreseen(world.fleet)
    seen.heard(told(mean_w), world.now_s)
    return world, seen


def allowed_w(world):
    return float(world.fleet.wall_w(world.limit_w)[UPS])


def test_what_would_be_over_is_kept_back_before_anything_is_measured_over():
    world, seen = crossing(1.06)
    before_w = allowed_w(world)
    world.ahead_w = seen.part_w(world.now_s)

    decision = world.second()

    assert not decision.alarm.any(), "nothing is over yet"
    assert before_w - allowed_w(world) == pytest.approx(0.06 * world.fleet.aim_w[UPS], rel=0.15)


def test_a_crossing_by_less_than_a_forecast_may_be_wrong_moves_nothing():
    world, seen = crossing(1.0 + 0.9 * CROSSES)
    before_w = allowed_w(world)
    world.ahead_w = seen.part_w(world.now_s)
    world.second()

    assert allowed_w(world) == before_w


def test_without_trust_in_forecasts_the_plan_is_reactive_and_takes_no_watt_for_one():
    world, seen = crossing(1.06, confidence=0.2)
    before_w = allowed_w(world)
    world.ahead_w = seen.part_w(world.now_s)

    assert world.second().reactive
    assert allowed_w(world) == pytest.approx(before_w, rel=0.002)


@pytest.mark.parametrize(
    "other", [{"confidence": 0.4}, {"basis": "nameplate"}, {"gpus": 31}, {"domain": "nowhere"}]
)
def test_a_forecast_in_doubt_or_of_other_boards_says_nothing(other):
    seen = Foreseen(site())
    seen.heard(told(20_000.0, **other), 60.0)

    assert np.isnan(seen.part_w(60.0)).all()


def test_it_holds_for_a_window_although_the_next_forecast_no_longer_tells_of_it_and_then_lapses():
    fleet = site()
    seen = Foreseen(fleet)
    seen.heard(told(20_000.0), 0.0)
    seen.heard(told(10_000.0), 1.0)

    assert seen.part_w(HOLDS_S - 0.1)[UPS] == pytest.approx(20_000.0 * SLOPE)
    seen.heard(told(10_000.0), HOLDS_S + 0.1)
    assert seen.part_w(HOLDS_S + 0.2)[UPS] == pytest.approx(10_000.0 * SLOPE)
    assert np.isnan(seen.part_w(3 * HOLDS_S)).all()
    assert np.isnan(seen.part_w(1.0)[[PDU_A, PDU_B]]).all()


def test_where_nothing_is_forecast_nothing_is_kept_back():
    assert kept_back_w(None, np.ones(3), np.ones(3)).tolist() == [0.0] * 3
    assert kept_back_w(np.full(3, np.nan), np.ones(3), np.ones(3)).tolist() == [0.0] * 3


def test_a_plan_that_is_asked_for_twice_with_the_same_forecast_is_the_same_plan():
    world, seen = crossing(1.06)
    world.ahead_w = seen.part_w(world.now_s)
    world.run(8)
    first = world.decision.job_limit_w.copy()
    world.memory = dataclasses.replace(world.memory)

    assert world.plan().job_limit_w.tolist() == first.tolist()
