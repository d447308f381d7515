"""Autoregression on one-second means: learns what repeats, says nothing where it cannot know, never runs away."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from easyrider_forecaster.core.arrays import HORIZONS_S
from easyrider_forecaster.core.history import History
from easyrider_forecaster.core.regression import EVERY, LEAST, ORDER, Regression


def _heard(seconds_w: np.ndarray) -> tuple[History, Regression]:
    """(rows, seconds) one-second means, told second by second."""
    history, regression = History(len(seconds_w)), Regression(len(seconds_w))
    nothing = np.full((len(seconds_w), 10), np.nan)
    for second_w in seconds_w.T:
        block = np.repeat(second_w[:, None], 10, axis=1)
        history.append(block, np.zeros(block.shape, np.bool_), np.full(len(block), 700.0), nothing, nothing)
        regression.learn(history)
    return history, regression


def test_a_wave_of_whole_seconds_goes_on_as_it_went() -> None:
    seconds = np.arange(200)
    history, regression = _heard((500.0 + 100.0 * np.sin(2 * np.pi * seconds / 7.0))[None])

    said = regression.means(history)[0]

    ahead = 500.0 + 100.0 * np.sin(2 * np.pi * np.arange(200, 230) / 7.0)
    for column, horizon_s in enumerate(HORIZONS_S):
        assert said[column] == pytest.approx(ahead[:horizon_s].mean(), abs=15.0)


def test_a_draw_that_wanders_about_its_middle_is_expected_to_return() -> None:
    rng, level_w = np.random.default_rng(1), 0.0
    seconds_w = np.empty(300)
    for second in range(300):
        level_w = 0.9 * level_w + rng.normal(0, 20.0)
        seconds_w[second] = 400.0 + level_w
    seconds_w[-ORDER:] = 520.0
    history, regression = _heard(seconds_w[None])

    said = regression.means(history)[0]

    assert 470.0 < said[0] < 525.0
    assert said[4] < said[0] - 20.0


@pytest.mark.parametrize(
    "seconds_w",
    [np.full(200, 412.0), np.linspace(400, 500, LEAST), np.where(np.arange(200) % 5, 450.0, np.nan)],
    ids=["constant", "young", "gaps in every window"],
)
def test_nothing_is_said_where_nothing_can_be_learned(seconds_w: np.ndarray) -> None:
    history, regression = _heard(seconds_w[None])

    assert np.isnan(regression.means(history)).all()


def test_a_row_that_was_cleared_says_nothing_until_it_has_learned_anew() -> None:
    history, regression = _heard(np.random.default_rng(3).normal(500, 20, (2, 200)))
    assert np.isfinite(regression.means(history)).all()

    regression.clear(1)

    assert np.isnan(regression.means(history)[1]).all()
    assert np.isfinite(regression.means(history)[0]).all()


@settings(max_examples=15, deadline=None)
@given(
    values=arrays.arrays(
        np.float64, (2, LEAST + ORDER + 2 * EVERY), elements=st.floats(0.0, 1200.0) | st.just(float("nan"))
    )
)
def test_whatever_was_measured_its_forecasts_do_not_run_away(values: np.ndarray) -> None:
    history, regression = _heard(values)

    said = regression.means(history)

    assert not np.isinf(said).any()
    assert (np.abs(said[np.isfinite(said)]) < 1e5).all()
