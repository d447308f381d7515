"""How near small and scattered questions come to the optimum; `bench/planner_scattered.py` asks all of them."""

import numpy as np
import pytest

import planner_scattered as bench
from easyrider_policy.core.allocate import allocate

SAMPLE = range(0, 200, 8)


@pytest.fixture(scope="module")
def answers():
    """(problem, answer, gap to the optimum) of every eighth question of the bench."""
    found = []
    for seed in SAMPLE:
        problem = bench.scattered(seed)
        answer = allocate(problem)
        found.append((problem, answer, bench.gap(problem, answer.watts, bench.best_value(problem))))
    return found


def test_none_of_a_sample_of_scattered_questions_is_more_than_a_hundredth_of_the_lost_work_from_the_optimum(
    answers,
):
    gaps = np.array([gap for _, _, gap in answers])

    assert gaps.max() <= 0.01
    assert gaps.mean() <= 0.0015


def test_the_certificate_is_never_kinder_than_the_truth(answers):
    # The reference is piecewise linear: it lies below the smooth optimum, never above it.
    assert all(answer.gap >= gap - 1e-3 for _, answer, gap in answers)


def test_the_sample_has_jobs_across_domains_jobs_alone_in_one_and_hard_limits_that_bind(answers):
    layouts = [problem.layout for problem, _, _ in answers]

    assert sum(len(layout.leaf_job) > layout.job_count for layout in layouts) > len(layouts) / 2
    assert any(answer.hard_binds.any() for _, answer, _ in answers)
    assert any((answer.own_price > 0).sum() > 3 for _, answer, _ in answers)


def test_prices_of_a_plan_before_lead_to_the_same_certificate_and_stand_still(answers):
    for problem, answer, _ in answers:
        again = allocate(problem, answer.own_price)
        third = allocate(problem, answer.own_price)

        assert problem.value(again.watts) >= problem.value(answer.watts) * (1 - 1e-4)
        assert (third.watts == again.watts).all()
