"""What went wrong for others: readings and series that broke forecasts elsewhere (numbers are our case list's)."""

import numpy as np
import pytest
from forecast_region import Region, at, every_watt, frame

from easyrider.errors import NotFinite


def test_b012_nonsense_beyond_the_device_maximum_is_counted_and_stays_a_gap(region: Region) -> None:
    region.job("j", "n1")
    region.run(20, lambda node, t_s: 212.0)
    region.run(0.2, lambda node, t_s: 3_700_000.0)
    region.run(2, lambda node, t_s: 212.0)

    assert (
        region.engine.intake.boards.rejected == 2 * 2 * 8
    )  # two samples, mean and instant field, eight GPUs
    assert every_watt(region.said).max() <= 8 * 700.0
    assert at(region.series("j").draw, 10).peak_w == pytest.approx(8 * 212.0, rel=0.01)
    assert any("samples missing" in reason for reason in region.series("j").reasons)


def test_b013_a_negative_power_after_a_counter_step_is_no_sample(region: Region) -> None:
    region.job("j", "n1")
    region.run(20, lambda node, t_s: 60.0)
    region.run(1, lambda node, t_s: -60.0)
    region.run(2, lambda node, t_s: 60.0)

    assert region.engine.intake.boards.rejected == 10 * 2 * 8
    assert every_watt(region.said).min() >= 0


def test_b014_a_gpu_without_power_is_unknown_and_not_zero(region: Region) -> None:
    region.job("j", "n1")

    region.run(70, lambda node, t_s: 200.0, ok=lambda node, t_s: [0, 0, 1, 0, 0, 0, 0, 0])

    assert at(region.series("j").draw, 10).mean_w == pytest.approx(8 * 200.0, rel=0.01)


def test_b014_a_job_without_any_power_reading_counts_the_device_maximum(region: Region) -> None:
    region.job("j", "n1")

    region.run(20, lambda node, t_s: 0.0, ok=lambda node, t_s: 1)

    said = region.series("j")
    assert at(said.demand, 10).mean_w == 8 * 700.0
    assert said.basis == "nameplate"
    assert said.confidence == 0.0


def test_b015_a_node_that_samples_once_a_second_is_believed_less(region: Region) -> None:
    region.job("j", "n1")

    region.run(60, lambda node, t_s: 500.0 if abs(t_s - round(t_s)) < 0.01 else None)

    said = region.series("j")
    assert at(said.draw, 10).mean_w == pytest.approx(8 * 500.0, rel=0.01)
    assert said.confidence <= 0.6
    assert any("slower than 10 Hz" in reason for reason in said.reasons)


def test_b018_samples_from_before_a_job_started_are_not_the_jobs(region: Region) -> None:
    region.run(30, lambda node, t_s: 600.0)
    region.job("late", "n1")

    region.run(15, lambda node, t_s: 100.0)

    assert at(region.series("late").draw, 1).mean_w == pytest.approx(800.0, rel=0.01)
    assert at(region.series("late").draw, 1).peak_w == pytest.approx(800.0, rel=0.01)


@pytest.mark.parametrize("tail", [[411.0, 380.0], []])
def test_b076_a_flat_series_is_forecast_flat_and_names_its_method(region: Region, tail: list[float]) -> None:
    region.job("j", "n1")
    values = [412.0] * 40 + tail
    region.run(len(values), lambda node, t_s: values[min(int(t_s - 0.05), len(values) - 1)])

    said = region.series("j")
    assert np.isfinite(every_watt(region.said)).all()
    assert 8 * 379.0 <= at(said.draw, 10).mean_w <= 8 * 413.0
    assert said.model


def test_b076_a_single_sample_gives_the_nameplate_and_no_exception(region: Region) -> None:
    region.job("j", "n1")
    region.run(0.1, lambda node, t_s: 412.0)
    region.run(2, lambda node, t_s: None)

    assert at(region.series("j").demand, 30).peak_q99_w == 8 * 700.0


def test_b077_a_number_that_is_not_finite_changes_nothing(region: Region) -> None:
    region.job("j", "n1")
    region.run(30, lambda node, t_s: 300.0)

    for wrong in (float("nan"), float("inf")):
        told = frame("n1", region.gpus["n1"], region.now_s + 0.05, [wrong] * 8)
        with pytest.raises(NotFinite):
            region.engine.intake.take_frame(told, region.now_s + 0.05)
    region.run(2, lambda node, t_s: 300.0)

    assert at(region.series("j").draw, 30).mean_w == pytest.approx(2400.0, rel=0.01)


def test_b078_a_falling_ramp_is_never_forecast_below_the_lowest_draw_seen(region: Region) -> None:
    region.job("j", "n1")
    lowest = np.inf
    for _ in region.play(40, lambda node, t_s: 700.0 - 17.0 * t_s):
        lowest = min(lowest, float(every_watt(region.said).min()))

    assert lowest >= 8 * 20.0 - 0.1


def test_b079_uneven_samples_with_a_hole_and_doubles_are_put_on_one_grid(region: Region) -> None:
    rng = np.random.default_rng(3)
    steps_s = rng.uniform(0.8, 1.4, 120)
    steps_s[40], steps_s[50] = 20.0, 0.0
    times_s = np.cumsum(steps_s)
    region.job("j", "n1")
    intake, engine = region.engine.intake, region.engine
    for time_s in times_s:
        now_s = region.start_s + float(time_s)
        intake.take_frame(frame("n1", region.gpus["n1"], now_s, [300.0] * 8), now_s + 0.002)
        if engine.advance(now_s + 0.01):
            region.said = engine.forecast()

    assert np.isfinite(every_watt(region.said)).all()
    assert at(region.series("j").draw, 10).mean_w == pytest.approx(2400.0, rel=0.01)
    assert any("samples missing" in reason for reason in region.series("j").reasons)


def test_a_stuck_sensor_is_a_gap_and_ends_as_the_device_maximum(region: Region) -> None:
    region.job("j", "n1")
    region.run(70, lambda node, t_s: 412.0)
    region.run(10, lambda node, t_s: 412.0, ok=lambda node, t_s: 4)

    said = region.series("j")
    assert said.confidence == 0.0
    assert at(said.demand, 10).peak_q99_w == 8 * 700.0
    assert said.reasons[0].startswith("silent for")
