"""Synthetic loads whose answer is known: what the combination must be good for, and its bounds must hold."""

import numpy as np
import pytest
from forecast_region import Region, at, make_region


def wave(t_s: float, period_s: float, phase: float = 0.0) -> float:
    """Synthetic iteration: 75 % at 620 W, the rest at 260 W; mean over the 0.1 s that end at t_s."""
    return 620.0 if ((t_s - 0.05) / period_s + phase) % 1.0 < 0.75 else 260.0


def test_a_periodic_job_is_forecast_far_better_than_by_its_last_value(region: Region) -> None:
    rng = np.random.default_rng(21)
    region.job("j", "n1")
    region.run(200, lambda node, t_s: list(wave(t_s, 4.3) + rng.normal(0, 7, 8)))

    row = region.engine.intake.groups.job("j").row
    means = region.engine.outlook.means
    assert region.series("j").period_s == pytest.approx(4.3, rel=0.03)
    assert (means.error_w[row] < 0.3 * means.rival_error_w[row]).all()
    assert region.series("j").confidence > 0.9


def test_after_a_step_the_forecast_follows_within_three_seconds(region: Region) -> None:
    region.job("j", "n1")
    region.run(90, lambda node, t_s: 300.0)
    region.run(3, lambda node, t_s: 600.0)

    assert at(region.series("j").draw, 1).mean_w > 8 * 540.0


def many_jobs(count: int) -> Region:
    """One node whose every GPU is a job of its own."""
    region = make_region({"n1": count})
    for gpu in range(count):
        region.job(f"job-{gpu}", "n1", gpus=slice(gpu, gpu + 1))
    return region


def test_the_bound_of_a_job_holds_about_as_often_as_it_says() -> None:
    rng, region = np.random.default_rng(22), many_jobs(24)
    periods, level_w = rng.uniform(0.6, 8, 24), np.zeros(24)

    def power(node: str, t_s: float) -> list[float]:
        level_w[:] = 0.999 * level_w + rng.normal(0, 0.4, 24)
        return [wave(t_s, p) + w for p, w in zip(periods, level_w + rng.normal(0, 6, 24), strict=True)]

    region.run(600, power)

    rows = [region.engine.intake.groups.job(f"job-{gpu}").row for gpu in range(24)]
    held = 1 - region.engine.outlook.bound.missed[rows].mean(axis=0)
    assert (held > 0.98).all(), held
    said = [at(region.series(f"job-{gpu}").demand, 10) for gpu in range(24)]
    assert np.mean([h.peak_q99_w - h.peak_w for h in said]) < 0.4 * (700 - 640)


def test_the_bound_of_a_domain_is_far_below_the_sum_of_its_jobs_bounds() -> None:
    rng, region = np.random.default_rng(23), many_jobs(20)
    phases, periods = rng.random(20), rng.uniform(2, 6, 20)

    region.run(
        500,
        lambda node, t_s: [
            wave(t_s, p, f) + float(rng.normal(0, 6)) for p, f in zip(periods, phases, strict=True)
        ],
    )

    domain = at(region.series("rack").draw, 10)
    of_jobs = sum(at(region.series(f"job-{gpu}").draw, 10).peak_q99_w for gpu in range(20))
    assert domain.mean_w == pytest.approx(20 * 530.0, rel=0.02)
    assert domain.peak_q99_w < of_jobs - 0.1 * (20 * 700.0 - domain.mean_w)
    assert 1 - region.engine.domains.draw.bound.missed[1, 3] > 0.97


def test_a_growing_trend_never_leaves_the_devices_range(region: Region) -> None:
    region.job("j", "n1")
    region.run(90, lambda node, t_s: min(690.0, 100.0 + 6.5 * t_s))

    assert max(h.peak_q99_w for h in region.series("j").demand) <= 8 * 700.0
    assert at(region.series("j").draw, 30).mean_w <= 8 * 700.0


def test_a_false_slow_wave_gives_no_period_and_little_confidence() -> None:
    region = make_region({"n1": 1})
    region.job("j", "n1")

    def smooth(node: str, t_s: float) -> list[float]:
        return [450.0 + 150.0 * float(np.sin(2 * np.pi * t_s / 3.2))]

    region.run(160, smooth, instant=smooth)

    said = region.series("j")
    assert said.confidence <= 0.3
    assert "alias suspected" in said.reasons[0]
    assert said.period_s is None
    assert said.model != "season"
    assert at(said.demand, 10).peak_q99_w >= 600.0


def test_the_next_rise_and_fall_of_a_job_travel_with_its_forecast(region: Region) -> None:
    region.job("j", "n1")
    region.run(80, lambda node, t_s: wave(t_s, 8.0))

    said = region.series("j")
    closed_s = region.engine.intake.boards.closed_before * 0.1 - region.start_s
    assert said.next_fall_s == pytest.approx((6.0 - closed_s) % 8.0, abs=0.5)
    assert said.next_rise_s == pytest.approx((8.0 - closed_s) % 8.0, abs=0.5)
    assert region.series("rack").next_fall_s is None
