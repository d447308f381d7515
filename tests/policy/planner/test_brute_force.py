"""Small random trees against every sharing of a grid: no point of it beats the planner by more than it says."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from test_allocate import answered, question

from easyrider_policy.core import curves

GRID = 24


def every_value(problem):
    """Values of all points of a grid between floors and tops that keep every budget; -inf for the others."""
    jobs = problem.layout.job_count
    axis = np.linspace(0.0, 1.0, GRID)
    part = np.stack(np.meshgrid(*[axis] * jobs, indexing="ij")).reshape(jobs, -1)
    watts = problem.floor_w[:, None] + part * (problem.top_w - problem.floor_w)[:, None]
    classes = np.repeat(problem.busy[:, None], watts.shape[1], axis=1)
    speed = curves.speed(watts / problem.peak_w[:, None], classes)
    value = (problem.layout.weight * problem.boards) @ speed
    shape = (problem.layout.domain_count, jobs)
    drawn, held = np.zeros(shape), np.zeros(shape)
    place = problem.layout.pair_domain, problem.layout.pair_job
    drawn[place], held[place] = problem.drawn, problem.loads.worst
    fits = (drawn @ watts <= problem.target_w[:, None] + 1e-6).all(axis=0)
    counted_w = np.maximum(watts, problem.fallback_w[:, None])
    fits &= (held @ counted_w <= problem.hard_w[:, None] + 1e-6).all(axis=0)
    return np.where(fits, value, -np.inf)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 100_000))
def test_no_sharing_of_a_grid_beats_the_planner_by_more_than_its_certificate_and_none_by_a_hundredth(seed):
    problem, floors, answer = answered(question(seed, most_cuts=3))
    assume(not (floors.missing_w > 0).any())

    best = float(every_value(problem).max())

    value, most = problem.value(answer.watts), problem.most()
    lost = most - value
    assert best <= value + answer.gap * lost / (1.0 + answer.gap) + 1e-6 * most
    assert best - value <= 0.01 * max(most - best, 0.0) + 1e-6 * most
