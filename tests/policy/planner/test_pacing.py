"""Which moves wait, which do not, and what no pacing may ever cause."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_allocate import answered, question

from easyrider.tree import Pacing
from easyrider_policy.core.pacing import Moves, counts, paced

PACING = Pacing()
RATING = 700.0


def roomy():
    """A problem in which nothing is scarce."""
    return question(3, 3.0)


def moves(problem, old, wished, **kw):
    jobs = problem.layout.job_count
    columns = {
        "natural_w": 700.0, "binds_w": 700.0, "rating_w": RATING, "changed_ago_s": 1e9, "lowered_ago_s": 1e9,
        "fresh": False, "movable": True,
    } | kw  # fmt: skip
    full = {name: np.full(jobs, value) for name, value in columns.items()}
    return Moves(old_w=np.full(jobs, float(old)), wished_w=np.full(jobs, float(wished)), **full)


def first(problem, given_moves):
    return float(paced(problem, given_moves, PACING)[0])


def test_a_raise_among_running_jobs_goes_by_a_tenth_of_the_rating():
    assert first(roomy(), moves(roomy(), 300, 600)) == pytest.approx(370.0)


def nearly_full(old_w):
    """A problem whose budgets hold 2 % more than these limits."""
    problem = roomy()
    held_w = np.full(problem.layout.job_count, float(old_w))
    target_w = 1.02 * counts(problem, np.full(problem.layout.job_count, 700.0), held_w)
    return replace(problem, target_w=target_w)


def test_a_raise_waits_ten_seconds_after_a_lowering():
    problem = nearly_full(300)

    assert first(problem, moves(problem, 300, 600, lowered_ago_s=9.0)) == 300.0
    assert first(problem, moves(problem, 300, 600, lowered_ago_s=10.0)) > 300.0


def test_a_raise_into_watts_that_lie_idle_takes_from_nobody_and_goes_by_steps_without_waiting():
    problem = roomy()

    assert first(problem, moves(problem, 300, 600, lowered_ago_s=1.5)) == pytest.approx(370.0)


def test_a_raise_waits_a_second_after_any_change():
    assert first(roomy(), moves(roomy(), 300, 600, changed_ago_s=0.4)) == 300.0


def test_a_job_that_just_started_or_woke_is_raised_in_one_move():
    assert first(roomy(), moves(roomy(), 200, 600, fresh=True, lowered_ago_s=1.0)) == pytest.approx(600.0)


def test_a_move_that_binds_neither_before_nor_after_is_free():
    problem = roomy()

    assert first(problem, moves(problem, 650, 420, natural_w=400.0, binds_w=400.0)) == 420.0
    assert (
        first(problem, moves(problem, 450, 650, natural_w=400.0, binds_w=400.0, changed_ago_s=0.1)) == 650.0
    )


def test_a_move_inside_the_dead_band_is_left_out():
    assert first(roomy(), moves(roomy(), 400, 405)) == 400.0


def test_redistribution_downwards_waits_and_goes_by_steps_where_no_limit_asks_for_it():
    problem = roomy()

    assert first(problem, moves(problem, 600, 300, changed_ago_s=5.0)) == 600.0
    assert first(problem, moves(problem, 600, 300)) == pytest.approx(530.0)


def test_a_lowering_that_a_limit_asks_for_is_done_at_once_and_at_full_depth():
    problem = question(3, 0.5)
    asked = moves(problem, 600, 250, changed_ago_s=0.1, lowered_ago_s=0.1, natural_w=690.0, binds_w=690.0)

    assert (paced(problem, asked, PACING) == 250.0).all()


def test_others_are_lowered_at_once_to_make_room_for_a_start():
    problem, _, answer = answered(question(3, 0.75))
    jobs = problem.layout.job_count
    fresh = np.zeros(jobs, dtype=bool)
    fresh[0] = True
    old_w = np.where(fresh, 200.0, problem.peak_w)
    asked = Moves(
        old_w=old_w, wished_w=answer.watts, natural_w=problem.peak_w, binds_w=problem.peak_w,
        rating_w=np.full(jobs, RATING), changed_ago_s=np.zeros(jobs), lowered_ago_s=np.zeros(jobs), fresh=fresh,
        movable=np.ones(jobs, dtype=bool),
    )  # fmt: skip

    next_w = paced(problem, asked, PACING)

    assert (problem.drawn_w(np.minimum(next_w, problem.peak_w)) <= problem.target_w * 1.001 + 10).all()


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 100_000), st.booleans())
def test_whatever_pacing_holds_back_no_budget_is_overfilled_by_a_raise(seed, starting):
    rng = np.random.default_rng(seed)
    problem, floors, answer = answered(question(seed))
    jobs = problem.layout.job_count
    old_w = rng.uniform(200.0, 700.0, jobs)
    asked = Moves(
        old_w=old_w, wished_w=answer.watts, natural_w=problem.peak_w, binds_w=problem.peak_w,
        rating_w=np.full(jobs, RATING), changed_ago_s=rng.uniform(0, 20, jobs),
        lowered_ago_s=rng.uniform(0, 20, jobs), fresh=rng.random(jobs) < 0.3 * starting,
        movable=np.ones(jobs, dtype=bool),
    )  # fmt: skip

    next_w = paced(problem, asked, PACING)

    before_w, after_w = counts(problem, problem.peak_w, old_w), counts(problem, problem.peak_w, next_w)
    met = floors.missing_w == 0
    tolerated_w = np.minimum(10.0, 1e-3 * problem.target_w)
    assert (after_w[met] <= np.maximum(before_w, problem.target_w + tolerated_w)[met] + 1e-3).all()
    held_before, held_after = problem.held_w(old_w), problem.held_w(next_w)
    assert (held_after[met] <= np.maximum(held_before, problem.hard_w)[met] + 1e-3).all()


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 100_000))
def test_an_overfilled_domain_is_within_its_budgets_after_one_move(seed):
    problem, floors, answer = answered(question(seed))
    jobs = problem.layout.job_count
    rng = np.random.default_rng(seed)
    asked = Moves(
        old_w=rng.uniform(400.0, 700.0, jobs), wished_w=answer.watts, natural_w=problem.peak_w,
        binds_w=problem.peak_w, rating_w=np.full(jobs, RATING), changed_ago_s=np.zeros(jobs),
        lowered_ago_s=np.zeros(jobs), fresh=np.zeros(jobs, dtype=bool), movable=np.ones(jobs, dtype=bool),
    )  # fmt: skip

    next_w = paced(problem, asked, PACING)

    met = floors.missing_w == 0
    tolerated_w = np.minimum(10.0, 1e-3 * problem.target_w)
    drawn_w = counts(problem, problem.peak_w, next_w)
    assert (drawn_w[met] <= (problem.target_w + tolerated_w)[met] + 1e-3).all()
    assert (problem.held_w(next_w)[met] <= problem.hard_w[met] + 1e-3).all()
