"""What a limit did to a job is told by its own iterations, and is not known where it never ran free."""

import numpy as np
import pytest

from easyrider_policy.core.paces import Paces

ONE = np.array([0])


def heard(paces, period_s, ratio, times=20):
    for _ in range(times):
        paces.hear(ONE, np.array([period_s]), np.array([ratio]))
    return float(paces.happened[0])


def test_longer_iterations_under_a_limit_are_a_slowdown_of_so_much():
    paces = Paces(1)
    heard(paces, 2.0, 1.0)

    assert heard(paces, 2.5, 0.7) == pytest.approx(0.2)


def test_a_job_never_seen_free_has_no_known_slowdown():
    assert np.isnan(heard(Paces(1), 2.5, 0.7))


def test_a_job_that_no_limit_holds_any_more_has_none_to_tell():
    paces = Paces(1)
    heard(paces, 2.0, 1.0)
    heard(paces, 2.5, 0.7)

    assert np.isnan(heard(paces, 2.0, 1.0, times=1))


def test_another_program_begins_a_new_pace():
    paces = Paces(1)
    heard(paces, 2.0, 1.0)

    assert np.isnan(heard(paces, 20.0, 0.7))


def test_few_periods_tell_nothing():
    paces = Paces(1)
    heard(paces, 2.0, 1.0)

    assert np.isnan(heard(paces, 2.5, 0.7, times=4))
