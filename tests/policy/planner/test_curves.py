"""The speed curve: what was measured, concave, and its inverse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from easyrider_policy.core import curves

FULL = curves.BUSY_CLASSES - 1
ratios = st.floats(0.3, 1.0)
classes = st.integers(0, FULL)


def at(ratio: float, busy: int = FULL) -> float:
    return float(curves.speed(np.array([ratio]), np.array([busy]))[0])


@pytest.mark.parametrize(
    ("ratio", "measured"), [(1.0, 1.0), (0.84, 0.95), (0.74, 0.91), (0.61, 0.83), (0.5, 0.65)]
)
def test_speed_stays_within_three_points_of_what_was_measured_on_a_training_stage(ratio, measured):
    assert at(ratio) == pytest.approx(measured, abs=0.03)


@given(ratios, ratios, classes)
def test_more_watts_never_slow_a_job(a, b, busy):
    low, high = sorted((a, b))

    assert at(low, busy) <= at(high, busy) + 1e-12


@given(ratios, ratios, classes)
def test_the_curve_is_concave_so_that_prices_find_the_optimum(a, b, busy):
    assert at((a + b) / 2, busy) >= (at(a, busy) + at(b, busy)) / 2 - 1e-6


@given(st.floats(0.6, 1.0), st.integers(8, FULL))
def test_a_floor_runs_at_the_speed_it_was_made_for(least, busy):
    share = float(curves.least_share(np.array([least]), np.array([busy]))[0])

    assert at(share, busy) == pytest.approx(least, abs=2e-3) or share == pytest.approx(0.2)


@given(st.floats(0.35, 0.99), st.integers(4, FULL))
def test_the_share_held_at_a_price_is_the_one_where_a_watt_is_worth_it(ratio, busy):
    kind = np.array([busy])
    worth = curves.marginal(np.array([ratio]), kind)

    share = float(curves.share_at(np.log(worth), kind)[0])

    assert share == pytest.approx(ratio, abs=0.01)


def test_a_job_that_waits_half_its_time_loses_less_than_one_that_computes_always():
    assert at(0.6, FULL // 2) > at(0.6, FULL)


def test_the_busy_share_seen_under_a_limit_is_undone_to_the_natural_one():
    speed = at(0.7)
    seen = (0.8 / speed) / (0.2 + 0.8 / speed)

    natural = curves.natural_busy(np.array([seen]), np.array([0.7]))

    assert natural[0] == pytest.approx(0.8, abs=1e-6)
