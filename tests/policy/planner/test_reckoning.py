"""How far what is reckoned of limits may be believed, by what was drawn."""

import numpy as np
import pytest
from small_world import UPS, World, load, site

from easyrider_policy.core.reckoning import DOUBT, FALLS_PER_S, LEAST, Reckoning


def after(seconds: int, drawn_w: float, *, reckoning: Reckoning | None = None) -> Reckoning:
    """One domain that was reckoned to draw 1 kW."""
    reckoning = reckoning or Reckoning(1)
    for _ in range(seconds):
        reckoning.add_second(np.array([drawn_w]), np.array([1000.0]))
    return reckoning


def test_a_margin_stands_until_seconds_have_kept_within_what_was_reckoned() -> None:
    assert Reckoning(1).share[0] == DOUBT
    assert after(9, 900.0).share[0] == DOUBT


def test_the_margin_is_earned_back_slowly_and_becomes_credit_down_to_a_bound() -> None:
    fallen = DOUBT - after(60, 900.0).highest[0]

    assert fallen == pytest.approx(51 * FALLS_PER_S)
    assert after(600, 900.0).share[0] == pytest.approx(LEAST, abs=0.004)


def test_credit_is_gone_at_once_when_more_is_drawn() -> None:
    reckoning = after(600, 980.0)
    before = float(reckoning.share[0])

    after(10, 1000.0, reckoning=reckoning)

    assert before == pytest.approx(0.98, abs=0.0045)
    assert reckoning.share[0] >= 1.0


def test_a_little_noise_moves_nothing() -> None:
    reckoning, rng = after(300, 984.0), np.random.default_rng(1)
    told = []

    for _ in range(2000):
        after(1, 984.0 + float(rng.normal(0.0, 1.0)), reckoning=reckoning)
        told.append(float(reckoning.share[0]))

    assert len(set(told[300:])) == 1


def test_a_gap_in_what_was_reckoned_teaches_nothing() -> None:
    reckoning = after(300, 985.0)
    before = reckoning.share.copy()

    reckoning.add_second(np.array([1500.0]), np.array([np.nan]))

    assert np.array_equal(reckoning.share, before)


def test_jobs_that_wait_at_different_times_are_credited_by_what_they_drew_together_and_the_target_is_kept() -> (
    None
):
    rng, jobs = np.random.default_rng(3), []
    for row in range(32):
        jobs.append(
            load(f"j{row}", [row], 640.0, busy=0.82, period_s=float(rng.uniform(20, 90)), low_w=340.0)
        )
        jobs[-1].at_s = float(rng.uniform(0, 90))
    world = World(site(ups_w=31_000.0), jobs)
    shares = []
    for _ in range(260):
        decision = world.second()
        world.walls.reckoned_w = decision.reckoned_w
        shares.append(decision.observed_w[UPS] / world.fleet.aim_w[UPS])
    means = np.convolve(shares, np.full(10, 0.1), mode="valid")

    # Alone each of them draws its peak for longer than the window: what it is credited with is the sum's own.
    assert world.observation.duty.duty.min() > 0.99
    assert world.walls.reckoning.share[UPS] < 1.0
    assert world.decision.reckoned_w[UPS] + world.walls.declared_w[UPS] > 1.005 * world.fleet.aim_w[UPS]
    assert means[-120:].max() <= 1.01
