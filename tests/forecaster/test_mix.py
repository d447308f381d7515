"""Weights of rivals: who was absent earns no trust by it."""

import numpy as np
import pytest

from easyrider_forecaster.core.arrays import HORIZONS_S
from easyrider_forecaster.core.mix import Mix

RATING_W = np.array([700.0])


def _said(mix: Mix, block: int, rivals: np.ndarray, outcome_w: float) -> np.ndarray:
    """One second: what came is judged, then what follows is said."""
    for column, horizon_s in enumerate(HORIZONS_S):
        mix.score(block, column, np.array([outcome_w]), np.array([block >= horizon_s]), RATING_W)
    context = np.zeros(1, np.int64)
    mixed = mix.weigh(rivals, context)
    mix.keep(block, rivals, mixed, context)
    return mixed


@pytest.mark.parametrize("wrong_w", [350.0, 650.0])
def test_a_rival_that_was_silent_for_minutes_does_not_speak_alone_when_it_wakes(wrong_w: float) -> None:
    mix, rng = Mix(1, (0.0, 0.0, 0.5)), np.random.default_rng(2)
    rivals = np.full((1, len(HORIZONS_S), 3), np.nan, np.float32)
    for block in range(240):
        rivals[0, :, :2] = 500.0 + rng.normal(0, 5, 2)
        _said(mix, block, rivals, 500.0 + rng.normal(0, 5))

    rivals[0, :, 2] = wrong_w
    said = [_said(mix, block, rivals, 500.0) for block in range(240, 250)]

    assert (np.abs(said[0] - 500.0) < 0.5 * abs(wrong_w - 500.0)).all()
    assert np.abs(said[-1][0, 0] - 500.0) < 10.0


def test_a_rival_that_wakes_and_is_right_is_heard_within_a_minute() -> None:
    mix, rng = Mix(1, (0.0, 0.0, 0.5)), np.random.default_rng(2)
    rivals = np.full((1, len(HORIZONS_S), 3), np.nan, np.float32)
    for block in range(300):
        outcome_w = 500.0 + 100.0 * (-1) ** block
        rivals[0, :, :2] = 500.0 + rng.normal(0, 5, 2)
        rivals[0, :, 2] = 500.0 + 100.0 * (-1) ** (block + 1) if block >= 240 else np.nan
        said = _said(mix, block, rivals, outcome_w)

    assert said[0, 0] == pytest.approx(500.0 + 100.0 * (-1) ** (block + 1), abs=20.0)
