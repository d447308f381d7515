"""Nobody in the bench of forecasters sees what comes after an origin."""

from dataclasses import replace

import numpy as np
import pytest

from easyrider_forecast_bench.contract import Answer
from easyrider_forecast_bench.loads import families
from easyrider_forecast_bench.loads.families import Key
from easyrider_forecast_bench.ours import EasyRider
from easyrider_forecast_bench.rivals.table import RIVALS
from easyrider_forecast_bench.series import SLOTS, Series

SEEN_S = 60
ORIGINS_S = np.array([40, 50, SEEN_S, 75])


def twins(family: str) -> tuple[Series, Series]:
    """A synthetic series, and one that is the same up to `SEEN_S` and noise from there on."""
    one = families.series(Key(family=family, number=1, seconds=80, origins=4, name="s"))
    rng = np.random.default_rng(4)

    def noisy(power_w: np.ndarray, top_w: float) -> np.ndarray:
        changed = power_w.copy()
        changed[..., SEEN_S * SLOTS :] = rng.uniform(0.1, 0.95, changed[..., SEEN_S * SLOTS :].shape) * top_w
        return changed

    other = replace(
        one,
        power_w=noisy(one.power_w, one.rating_w),
        instant_w=noisy(one.instant_w, one.rating_w),
        parts_w=noisy(one.parts_w, 700.0) if one.parts_w.size else one.parts_w,
        part_instant_w=noisy(one.part_instant_w, 700.0) if one.parts_w.size else one.part_instant_w,
    )
    return one, other


def same(answers: tuple[Answer, Answer], rows: slice) -> bool:
    one, other = answers
    figures = [(one.mean_w, other.mean_w), (one.peak_w, other.peak_w)]
    if one.q99_w is not None and other.q99_w is not None:
        figures.append((one.q99_w, other.q99_w))
    return all(np.array_equal(a[rows], b[rows], equal_nan=True) for a, b in figures)


@pytest.mark.parametrize("name", list(RIVALS))
def test_noise_after_an_origin_leaves_every_earlier_forecast_of_a_rival_bit_equal(name: str) -> None:
    answers = tuple(RIVALS[name]().forecast(series, ORIGINS_S) for series in twins("checkpoints"))

    assert same(answers, slice(0, 3))
    assert not same(answers, slice(3, 4))


@pytest.mark.parametrize("family", ["checkpoints", "domain"])
def test_noise_after_an_origin_leaves_every_earlier_forecast_of_ours_bit_equal(family: str) -> None:
    answers = tuple(EasyRider().forecast_all([series], [ORIGINS_S])[0] for series in twins(family))

    assert same(answers, slice(0, 3))
    assert not same(answers, slice(3, 4))
