"""Iteration periods."""

import numpy as np
import pytest

from easyrider_forecaster.core import period
from easyrider_forecaster.core.period import Periods
from easyrider_twin import waves


def load(rng: np.random.Generator, period_s: float, jitter: float, seconds: float = 120.0) -> np.ndarray:
    """Synthetic: 100 ms means of a job that computes 78 % of each iteration at 620 W and communicates at 250 W."""
    times, watts, t_s = [0.0], [], 0.0
    while t_s < seconds:
        length_s = period_s * float(np.clip(rng.normal(1, jitter), 0.5, 1.5))
        watts += [620.0, 250.0]
        times += [t_s + 0.78 * length_s, t_s + length_s]
        t_s += length_s
    energy = np.concatenate(([0.0], np.cumsum(np.diff(times) * np.array(watts))))
    grid = np.arange(0.0, seconds + 1e-9, 0.1)
    return np.diff(np.interp(grid, times, energy)) / 0.1 + rng.normal(0, 7, len(grid) - 1)


def test_periods_from_half_a_second_to_twelve_are_found_within_six_per_cent() -> None:
    rng = np.random.default_rng(11)
    true_s = np.exp(rng.uniform(np.log(0.5), np.log(12.0), 120))
    values = np.stack([load(rng, p, 0.02) for p in true_s])

    found_s = period.find(values)

    right = np.abs(found_s - true_s) <= 0.06 * true_s
    assert right.mean() >= 0.95


def trainings(seed: int, low_s: float, high_s: float, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Synthetic energy means of 120 s, (number, 1200), and their periods; jitter 1, 3 and 5 % in turn."""
    rng, jitters = np.random.default_rng(seed), (0.01, 0.03, 0.05)
    true_s = np.exp(rng.uniform(np.log(low_s), np.log(high_s), number))
    loads = [
        waves.Training.drawn(rng, period_s=float(p), jitter=jitters[k % 3]) for k, p in enumerate(true_s)
    ]
    rows = [waves.energy_means_w(one.power_w(rng, 120.0)) for one in loads]
    return np.array(rows, np.float32), true_s


def test_periods_of_training_from_0p4_to_20_s_are_right_in_nineteen_of_twenty_cases() -> None:
    values, true_s = trainings(17, 0.4, 20.0, 240)

    found_s = period.find(values)

    assert (np.abs(found_s - true_s) <= 0.06 * true_s).mean() >= 0.95


def test_where_two_estimators_agree_a_period_is_surer_than_where_they_do_not() -> None:
    values, true_s = trainings(18, 0.25, 20.0, 200)

    found = period.detect(values)

    right = np.abs(found.period_s - true_s) <= 0.06 * true_s
    assert right[found.agreed].mean() >= 0.97
    assert right[~found.agreed].mean() < 0.9


def test_what_phase_marks_announce_goes_before_what_was_found() -> None:
    periods, row, refresh = Periods(1), np.array([0]), np.array([0.1])

    periods.take(row, np.array([1.0]), refresh, np.array([False]), np.array([4.0]))

    assert periods.period_s[0] == 4.0
    assert bool(periods.announced[0])
    assert periods.agreement[0] == 1.0


def test_a_period_that_drifts_is_followed() -> None:
    periods, row, refresh = Periods(1), np.array([0]), np.array([0.1])
    for period_s in (2.0, 2.0, 2.06, 2.12, 2.2, 2.28, 2.36, 2.44):
        periods.take(row, np.array([period_s]), refresh)

    assert periods.period_s[0] == pytest.approx(2.44, rel=0.06)


def test_noise_and_steps_have_no_period() -> None:
    rng = np.random.default_rng(12)
    noise = rng.normal(500, 20, (40, 1200))
    steps = noise + np.repeat((np.arange(1200) > 700)[None, :] * 200.0, 40, axis=0)

    assert np.isnan(period.find(np.concatenate((noise, steps)))).mean() >= 0.95


def test_a_tenth_of_missing_samples_does_not_hide_a_period() -> None:
    rng = np.random.default_rng(13)
    values = np.stack([load(rng, 2.3, 0.01) for _ in range(10)])
    values[rng.random(values.shape) < 0.1] = np.nan

    assert period.find(values) == pytest.approx(2.3, rel=0.03)


def test_a_period_under_two_refreshes_is_called_not_observable() -> None:
    periods = Periods(1)

    for _ in range(2):
        periods.take(np.array([0]), np.array([1.5]), np.array([1.0]))

    assert np.isnan(periods.period_s[0])
    assert bool(periods.too_fast[0])


def test_a_period_is_believed_only_when_two_runs_agree() -> None:
    periods, row, refresh = Periods(1), np.array([0]), np.array([0.1])

    periods.take(row, np.array([2.0]), refresh)
    assert np.isnan(periods.period_s[0])
    periods.take(row, np.array([5.0]), refresh)
    assert np.isnan(periods.period_s[0])
    assert bool(periods.unsettled[0])
    periods.take(row, np.array([5.1]), refresh)
    assert periods.period_s[0] == pytest.approx(5.1)
