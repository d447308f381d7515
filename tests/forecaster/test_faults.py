"""Clocks that step, frames late or said twice, fields that are stuck, jobs that become others."""

import csv
import gzip

import msgspec
import numpy as np
import pytest
from forecast_region import Region, at, frame

from easyrider.columns import pack
from easyrider.messages import NodeFrame
from easyrider_forecaster.core import drift, observable, report
from easyrider_forecaster.core.node_clock import NodeClock
from easyrider_forecaster.core.stuck import Stuck
from easyrider_twin import recordings


def warm(told: NodeFrame, temperature_c: int) -> NodeFrame:
    """The frame with slow columns, all boards as warm."""
    count = told.gpu_count
    slow = {
        name: pack(kind, [0] * count)
        for name, kind in (("sm_mhz", "u2"), ("mem_mhz", "u2"), ("reasons", "u8"), ("memory_mb", "u4"))
    }
    return msgspec.structs.replace(
        told, temperature_c=pack("i2", [temperature_c] * count), util_pct=pack("u1", [0] * count),
        mean10_w=pack("f4", [0.0] * count), max10_w=pack("f4", [0.0] * count), slow_ok=pack("u1", [0] * count), **slow,
    )  # fmt: skip


def test_a_clock_that_stood_still_is_noticed_and_a_slow_bus_is_not() -> None:
    rng = np.random.default_rng(1)
    stood, slow = NodeClock("boot"), NodeClock("boot")
    for tick in range(1200):
        late_s = 0.0 if tick < 300 else 60.0
        queue_s = 0.0 if tick < 300 else 2.0 + float(rng.uniform(0, 1))
        stood.received(0.1 * tick - late_s, 0.1 * tick + 0.003 + float(rng.uniform(0, 0.002)))
        slow.received(0.1 * tick - queue_s, 0.1 * tick + 0.003)

    assert stood.steps == 1
    assert stood.at(119.9 - 60.0) == pytest.approx(119.9, abs=0.01)
    assert slow.steps == 0


def test_samples_count_again_after_a_node_was_suspended(region: Region) -> None:
    region.job("j", "n1")
    region.run(30, lambda node, t_s: 500.0)
    engine, gpus = region.engine, region.gpus["n1"]

    for tick in range(1, 400):  # the node's clock stood still for 60 s, and it goes on with its boot
        now_s = region.now_s + 60.0 + 0.1 * tick
        engine.intake.take_frame(frame("n1", gpus, now_s - 60.0, [400.0] * 8), now_s + 0.002)
        if engine.advance(now_s + 0.01):
            region.said = engine.forecast()

    assert at(region.series("j").draw, 1).mean_w == pytest.approx(8 * 400.0, rel=0.01)
    assert region.series("j").confidence > 0.0


def test_the_time_of_day_may_step_and_nothing_happens(region: Region) -> None:
    region.job("j", "n1")
    region.run(20, lambda node, t_s: 500.0)
    before = region.series("j")

    for tick in range(1, 21):
        now_s = region.now_s + 0.1 * tick
        told = frame("n1", region.gpus["n1"], now_s, [500.0] * 8)
        region.engine.intake.take_frame(msgspec.structs.replace(told, t_ns=-(10**18)), now_s + 0.002)
        if region.engine.advance(now_s + 0.01):
            region.said = region.engine.forecast()

    assert region.series("j").draw == before.draw


def test_a_frame_said_twice_counts_once_and_an_old_one_brings_no_old_limit_back(region: Region) -> None:
    region.job("j", "n1")
    region.run(20, lambda node, t_s: 500.0)
    intake, gpus, now_s = region.engine.intake, region.gpus["n1"], region.now_s
    board = intake.boards.row_of[gpus[0]]

    told = frame("n1", gpus, now_s + 0.2, [400.0] * 8, limit_w=400.0)
    intake.take_frame(told, now_s + 0.202)
    intake.take_frame(told, now_s + 0.203)
    intake.take_frame(frame("n1", gpus, now_s + 0.1, [500.0] * 8, limit_w=700.0), now_s + 0.204)

    assert intake.dropped["duplicate_frames"] == 1
    assert intake.dropped["late_frames"] == 1
    assert intake.boards.limit_w[board] == 400.0


def test_late_frames_do_not_make_a_node_look_slower_than_it_samples() -> None:
    clock = NodeClock("boot")
    for tick in range(50):
        clock.place(np.array([0.1 * tick]))
    clock.place(np.array([3.0]))
    clock.place(np.array([5.0]))

    assert clock.span() == 1


def test_a_flat_field_on_a_board_that_warms_is_stuck_and_on_one_that_does_not_is_idle() -> None:
    stuck = Stuck()
    stuck.grow(2)
    rows, flat = np.arange(2), np.full((1, 2), 46.19)
    for second in range(30):
        stuck.take(rows, float(second), flat.copy(), np.array([32.0 + 0.5 * second, 32.0]))
    mean_w, instant_w = np.array([[46.19, 46.19]]), flat.copy()
    stuck.blank(rows, mean_w, instant_w)

    assert stuck.stuck.tolist() == [True, False]
    assert np.isnan(mean_w[0, 0])
    assert instant_w[0, 1] == 46.19
    stuck.take(rows, 30.0, np.array([[47.0, 46.19]]), None)
    assert not stuck.stuck.any()


def test_the_recorded_stuck_sensor_ends_as_unknown_and_not_as_an_idle_board(region: Region) -> None:
    path = recordings.SHIPPED / "stuck_power_sensor_during_resnet50_inference.csv.gz"
    with gzip.open(path, "rt") as file:
        rows = [(float(row["power_w"]), int(row["temp_c"])) for row in csv.DictReader(file)][:200]
    region.job("j", "n1")
    for second, (power_w, temperature_c) in enumerate(rows):
        for tenth in range(10):
            now_s = region.start_s + second + 0.1 * tenth
            told = frame("n1", region.gpus["n1"], now_s, [power_w] * 8)
            region.engine.intake.take_frame(warm(told, temperature_c) if tenth == 0 else told, now_s + 0.002)
        if region.engine.advance(now_s + 0.01):
            region.said = region.engine.forecast()

    said = region.series("j")
    assert region.engine.intake.dropped["stuck_samples"] > 0
    assert said.confidence == 0.0
    assert at(said.demand, 10).peak_q99_w == 8 * 700.0
    assert "power field stuck on 100 % of its boards" in said.reasons


def test_a_level_that_moved_is_said_and_lowers_the_confidence(region: Region) -> None:
    region.job("j", "n1")
    region.run(150, lambda node, t_s: 500.0 + 5.0 * float(np.sin(t_s)))
    before = region.series("j").confidence
    region.run(45, lambda node, t_s: 420.0 + 5.0 * float(np.sin(t_s)))

    said = region.series("j")
    assert any(reason.startswith("level moved") for reason in said.reasons)
    assert said.confidence < before


def test_waves_noise_and_dips_are_no_drift_and_a_step_is_found_when_it_was() -> None:
    rng = np.random.default_rng(4)
    calm_w = rng.normal(500, 20, (40, 1200))
    wave_w = calm_w + 150.0 * np.sin(np.arange(1200) * 0.2)
    dip_w, step_w = calm_w.copy(), wave_w.copy()
    dip_w[:, 600:800] = 150.0
    step_w[:, 800:] -= 80.0
    max_w, period_s = np.full(40, 700.0), np.full(40, 3.14)

    assert not drift.moved(calm_w, np.full(40, np.nan), max_w)[0].any()
    assert not drift.moved(wave_w, period_s, max_w)[0].any()
    assert not drift.moved(dip_w, np.full(40, np.nan), max_w)[0].any()
    changed, since_s = drift.moved(step_w, period_s, max_w)
    assert changed.all()
    assert since_s == pytest.approx(40.0, abs=6.0)


def test_nothing_under_two_seconds_is_observable_through_a_mean_of_one_second() -> None:
    through_field = observable.slowest_s(window_s=1.0, refresh_s=0.1, step_s=0.1, by_counter=False)
    through_counter = observable.slowest_s(window_s=1.0, refresh_s=0.1, step_s=0.1, by_counter=True)

    assert 2 * through_field == 2.0
    assert 2 * through_counter == pytest.approx(0.2)
    assert not observable.is_partial(1.0, 0.1)
    assert observable.is_partial(0.025, 0.1)


def test_b018_the_first_second_of_a_job_seen_through_a_mean_of_one_second_is_not_the_jobs(
    region: Region,
) -> None:
    past: list[float] = [600.0] * 10

    def see(watts: float, seconds: int) -> None:
        for _ in range(10 * seconds):
            past.append(watts)
            region.t_s = round(region.t_s + 0.1, 6)
            told = frame("n1", region.gpus["n1"], region.now_s, [float(np.mean(past[-10:]))] * 8)
            told = msgspec.structs.replace(told, window_s=1.0, energy_ok=pack("u1", [1] * 8))
            region.engine.intake.take_frame(told, region.now_s + 0.002)
            if region.engine.advance(region.now_s + 0.01):
                region.said = region.engine.forecast()

    see(600.0, 30)
    region.job("late", "n1")
    see(100.0, 15)

    assert at(region.series("late").draw, 1).peak_w == pytest.approx(800.0, rel=0.02)
    assert at(region.series("late").draw, 30).peak_w == pytest.approx(800.0, rel=0.02)


@pytest.mark.parametrize("watts", [float("nan"), float("inf"), -1.0, 1e7])
def test_numbers_that_cannot_be_leave_as_no_forecast_with_the_reason(watts: float) -> None:
    fit, unfit = [[400.0, 450.0, 460.0, 470.0]] * 5, [[400.0, 450.0, 460.0, watts]] * 5
    told = report.Said("j", 8, 2.0, 0.9, ("young: 5 s of data",), "m", 0.0, "observed")

    assert report.fault((fit, fit), 700.0) == ""
    why = report.fault((fit, unfit), 700.0)
    said = report.series("job", report.none(told, why), (), ())
    assert said.reasons[0].startswith("no forecast: ")
    assert "for boards that can draw 700 W" in said.reasons[0]
    assert (said.confidence, said.period_s, said.draw, said.demand) == (0.0, None, (), ())
