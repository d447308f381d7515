"""What was said is judged by what came, neither earlier nor later."""

import numpy as np
import pytest
from forecast_region import Region, every_watt, make_region

from easyrider_forecaster.core.arrays import HORIZONS_S
from easyrider_forecaster.core.bound import PeakBound
from easyrider_forecaster.core.mix import Mix

RATING_W = np.array([700.0])


@pytest.mark.parametrize("column", range(len(HORIZONS_S)))
def test_an_expert_that_knows_the_future_has_no_error_at_its_horizon(column: int) -> None:
    horizon_s, future = HORIZONS_S[column], np.arange(200.0) ** 1.5
    mix = Mix(1, (0.0, 0.0))
    for block in range(120):
        outcome = future[block - horizon_s + 1 : block + 1].mean() if block >= horizon_s else np.nan
        mix.score(block, column, np.array([outcome]), np.array([block >= horizon_s]), RATING_W)
        rivals = np.full((1, len(HORIZONS_S), 2), np.nan)
        rivals[0, column, 0] = future[block]  # the last value, always late on a rising series
        rivals[0, column, 1] = future[block + 1 : block + horizon_s + 1].mean()  # what will come
        mix.keep(block, rivals, rivals[:, :, 1])

    assert mix.error_w[0, column] == pytest.approx(0.0, abs=1e-3)
    assert mix.rival_error_w[0, column] > 1.0
    assert int(mix.best(column)[0]) == 1


@pytest.mark.parametrize("column", range(len(HORIZONS_S)))
def test_no_verdict_falls_before_its_horizon_has_passed(column: int) -> None:
    horizon_s, bound = HORIZONS_S[column], PeakBound(1)
    for block in range(horizon_s + 1):
        bound.score(block, column, np.array([100.0]), np.array([True]), np.array([False]))
        assert bound.scored[0, column] == (1 if block >= horizon_s else 0)
        bound.keep(block, np.full((1, 5), 90.0), np.full((1, 5), 95.0))


def test_noise_after_an_origin_leaves_every_earlier_forecast_as_it_was() -> None:
    def wave(t_s: float) -> float:
        return 600.0 if t_s % 3.1 < 2.2 else 250.0

    told: list[list[np.ndarray]] = []
    for seed in (1, 2):
        rng, region = np.random.default_rng(seed), make_region({"n1": 2})
        region.job("j", "n1")

        def power(node: str, t_s: float, rng: np.random.Generator = rng) -> float:
            return wave(t_s) if t_s <= 60.0 else float(rng.uniform(80, 690))

        told.append([every_watt(region.said) for _ in region.play(80, power)])

    same = [bool(np.array_equal(a, b)) for a, b in zip(*told, strict=True)]
    assert all(same[:59])
    assert not all(same[62:])


def test_the_mean_is_compared_with_the_mean_that_came(region: Region) -> None:
    region.job("j", "n1")
    row_errors = []
    for t_s in region.play(120, lambda node, t_s: 300.0 + 2.0 * t_s):
        if t_s > 100:
            row = region.engine.intake.groups.job("j").row
            row_errors.append(region.engine.outlook.means.rival_error_w[row])

    # a rise of 2 W/s: the last 0.1 s lies h/2 behind the middle of the window that follows
    assert row_errors[-1] == pytest.approx([1.1, 2.1, 5.1, 10.1, 30.1], abs=0.25)


def test_a_gap_is_no_verdict(region: Region) -> None:
    region.job("j", "n1")
    region.run(40, lambda node, t_s: 500.0)
    row = region.engine.intake.groups.job("j").row
    before = region.engine.outlook.means.scored[row].copy()

    region.run(20, lambda node, t_s: None)

    gained = region.engine.outlook.means.scored[row] - before
    assert gained[0] <= 1
    assert gained[-1] <= 4  # a window of 30 s may lack a tenth


def test_a_moved_limit_is_no_verdict_on_the_draw(region: Region) -> None:
    region.job("j", "n1")
    region.run(70, lambda node, t_s: 650.0)
    row = region.engine.intake.groups.job("j").row
    before = int(region.engine.outlook.means.scored[row, 4])
    for limit_w in np.linspace(600, 400, 10):
        region.limit_w["n1"] = float(limit_w)
        region.run(1, lambda node, t_s: min(650.0, region.limit_w["n1"]))

    assert int(region.engine.outlook.means.scored[row, 4]) - before <= 1
