"""Quantiles of the mean hold as often as they say, on loads whose future is known (synthetic)."""

import numpy as np
import pytest

from easyrider_forecaster.core.arrays import HORIZONS_S
from easyrider_forecaster.core.bank import Bank
from easyrider_forecaster.core.mean_quantiles import LEVELS, MeanQuantiles

RATING_W = 700.0


@pytest.fixture(scope="module")
def held() -> np.ndarray:
    """Share of 780 seconds after the first two minutes, over 24 jobs, in which each quantile held: (horizons, 3)."""
    rng, series, seconds = np.random.default_rng(8), 24, 900
    slots, period = np.arange(10 * seconds), rng.uniform(7, 80, series)[:, None]
    power_w = np.where((slots / period + rng.random((series, 1))) % 1.0 < 0.7, 620.0, 260.0)
    power_w[rng.random((series, seconds)).repeat(10, axis=1) < 0.02] = 160.0  # stalls of a second
    power_w[::4] = 400.0 + np.cumsum(rng.normal(0, 2, (series // 4, 10 * seconds)), axis=1)
    power_w = np.clip(power_w + rng.normal(0, 6, power_w.shape), 80.0, 690.0)
    bank, said = Bank(np.full(series, RATING_W), 75.0), []
    for second in range(seconds):
        bank.observe(power_w[:, 10 * second : 10 * second + 10])
        said.append(bank.tick().mean_quantiles_w)
    total_w = np.cumsum(power_w.reshape(series, seconds, 10).mean(axis=2), axis=1)
    share = np.empty((len(HORIZONS_S), len(LEVELS)))
    for column, horizon_s in enumerate(HORIZONS_S):
        origins = np.arange(120, seconds - horizon_s)
        came_w = (total_w[:, origins + horizon_s] - total_w[:, origins]).T / horizon_s
        told_w = np.stack([said[origin][:, column] for origin in origins])
        share[column] = (came_w[:, :, None] <= told_w).mean(axis=(0, 1))
    return share


def test_the_middle_quantile_lies_in_the_middle(held: np.ndarray) -> None:
    assert (np.abs(held[:, 0] - 0.5) < 0.06).all(), held


def test_nine_of_ten_means_come_out_below_the_quantile_of_nine_tenths(held: np.ndarray) -> None:
    assert (np.abs(held[:4, 1] - 0.9) < 0.03).all(), held
    assert abs(held[4, 1] - 0.9) < 0.06, held  # a job has 25 windows of 30 s that stand apart, no more


def test_one_mean_of_a_hundred_exceeds_the_highest_quantile(held: np.ndarray) -> None:
    assert (held[:, 2] > 0.98).all(), held
    assert (held[:, 2] < 0.9995).any(), held


def test_a_higher_level_is_never_lower_and_none_leaves_the_board() -> None:
    rng, quantiles, rating_w = np.random.default_rng(1), MeanQuantiles(3), np.full(3, RATING_W)
    for _ in range(400):
        said_w = rng.uniform(0, 700, 3)
        quantiles.score(2, said_w, rng.uniform(0, 700, 3), rng.random(3) < 0.9, rating_w)

    told_w = quantiles.around(rng.uniform(0, 700, (3, len(HORIZONS_S))), rating_w)

    assert (np.diff(told_w, axis=2) >= 0).all()
    assert (told_w >= 0.0).all()
    assert (told_w <= RATING_W).all()


def test_a_row_whose_outcomes_do_not_count_keeps_the_margins_of_the_start() -> None:
    quantiles, rating_w = MeanQuantiles(1), np.array([RATING_W])
    quantiles.score(0, np.array([300.0]), np.array([690.0]), np.array([False]), rating_w)
    quantiles.score(0, np.array([np.nan]), np.array([690.0]), np.array([True]), rating_w)

    assert quantiles.around(np.full((1, 5), 300.0), rating_w)[0, 0].tolist() == pytest.approx([300, 307, 321])
