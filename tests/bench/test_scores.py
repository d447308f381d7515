"""Every figure of the table, on arrays made by hand."""

import numpy as np
import pytest

from easyrider_bench.cases import STEP_S
from easyrider_bench.controllers.contract import DemandTerms
from easyrider_bench.demand import billing_kw
from easyrider_bench.record import JobRecord
from easyrider_bench.score import (
    over_j,
    over_target,
    ramp_p99_w_per_s,
    trailing_mean,
    work_lost_pct,
    worst_job_lost_pct,
)

PER_S = round(1 / STEP_S)


def job(weight: float, gpus: int, done_s: float, due_s: float) -> JobRecord:
    return JobRecord(id="j", gpus=gpus, weight=weight, done_s=done_s, due_s=due_s)


def test_work_lost_counts_weight_boards_and_seconds() -> None:
    jobs = (job(4.0, 8, 90.0, 100.0), job(1.0, 16, 50.0, 100.0))

    assert work_lost_pct(jobs) == pytest.approx(100 * (1 - (4 * 8 * 90 + 16 * 50) / (4 * 8 * 100 + 16 * 100)))


def test_the_worst_job_is_looked_for_unweighted_among_those_with_a_minute_of_work() -> None:
    jobs = (job(8.0, 8, 90.0, 100.0), job(1.0, 2, 30.0, 59.0), job(1.0, 2, 70.0, 100.0))

    assert worst_job_lost_pct(jobs) == pytest.approx(30.0)


def test_a_peak_that_a_ten_second_mean_takes_in_is_no_joule_over_target() -> None:
    wall_w = np.full(60 * PER_S, 900.0)
    wall_w[20 * PER_S : 21 * PER_S] = 1800.0  # 90 W more on the mean of ten seconds

    assert over_target(wall_w, np.full(len(wall_w), 1000.0)) == (0.0, 0.0)


def test_a_lasting_excess_counts_its_joules_but_for_the_window() -> None:
    wall_w = np.concatenate((np.full(20 * PER_S, 1000.0), np.full(40 * PER_S, 1100.0)))

    joules, seconds = over_target(wall_w, np.full(len(wall_w), 1000.0))

    assert joules == pytest.approx(100.0 * 35.0, rel=0.01)  # the first ten seconds count half
    assert seconds == pytest.approx(40.0, abs=0.1)


def test_each_sample_is_held_against_the_target_of_its_own_time() -> None:
    wall_w = np.full(40 * PER_S, 900.0)
    target_w = np.concatenate((np.full(20 * PER_S, 1000.0), np.full(20 * PER_S, 880.0)))

    joules, _ = over_target(wall_w, target_w)

    # the mean of power minus target rises from -100 W and passes 0 after 100 / 120 of the window
    assert joules == pytest.approx(20.0 * 10.0 + 0.5 * 20.0 * (10.0 / 6.0), rel=0.02)


def test_a_trailing_mean_begins_with_what_there_is() -> None:
    values = np.arange(400.0)

    assert trailing_mean(values)[:3] == pytest.approx([0.0, 0.5, 1.0])
    assert trailing_mean(values)[300] == pytest.approx(values[101:301].mean())


def test_over_hard_counts_every_sample() -> None:
    wall_w = np.array([900.0, 1100.0, 1300.0, 900.0])

    assert over_j(wall_w, np.full(4, 1000.0)) == pytest.approx(400.0 * STEP_S)


def test_ramps_are_between_means_of_whole_seconds() -> None:
    wall_w = np.repeat([1000.0, 1000.0, 3000.0, 3000.0], PER_S)

    assert ramp_p99_w_per_s(wall_w) == pytest.approx(2000.0, rel=0.05)


def test_the_bill_takes_the_interval_that_began_before_the_run_with_what_it_had() -> None:
    terms = DemandTerms(
        interval_s=60.0,
        first_begin_s=15.0 - 30.0,
        begun_j=30.0 * 5000.0,
        month_peak_w=1000.0,
        price_per_kw=1.0,
        gpu_hour_price=1.0,
    )

    assert billing_kw(np.full(30 * PER_S, 7000.0), terms) == pytest.approx(6.0)
    assert billing_kw(np.full(29 * PER_S, 7000.0), terms) == pytest.approx(1.0)  # nothing closes


def test_without_terms_the_bill_is_the_mean_of_a_short_run() -> None:
    assert billing_kw(np.linspace(0.0, 2000.0, 100), None) == pytest.approx(1.0)
