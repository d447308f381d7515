"""Few jobs across odd domains: how near the planner comes to a convex solver."""

import numpy as np
import pytest
from test_allocate import answered, question

from easyrider_policy.core import allocate, curves

optimize = pytest.importorskip("scipy.optimize")
sparse = pytest.importorskip("scipy.sparse")
CHORDS = 40


def best_value(problem):
    """The value of the optimum by HiGHS, on 40 chords a job."""
    jobs, domains = problem.layout.job_count, problem.layout.domain_count
    part = np.linspace(0, 1, CHORDS + 1)
    knots_w = problem.floor_w[:, None] + (problem.top_w - problem.floor_w)[:, None] * part
    speed = curves.speed(
        knots_w / problem.peak_w[:, None], np.repeat(problem.busy[:, None], len(part), axis=1)
    )
    length_w = np.maximum(np.diff(knots_w, axis=1), 1e-12)
    gain = (problem.layout.weight * problem.boards)[:, None] * np.diff(speed, axis=1) / length_w
    place = (problem.layout.pair_domain, problem.layout.pair_job)
    rows = sparse.vstack(
        [sparse.csr_matrix((w, place), (domains, jobs)) for w in (problem.drawn, problem.loads.worst)]
    )
    room_w = np.concatenate(
        [
            problem.target_w - problem.drawn_w(problem.floor_w),
            problem.hard_w - problem.held_w(problem.floor_w),
        ]
    )
    found = optimize.linprog(
        -gain.T.ravel(),
        A_ub=sparse.hstack([rows] * CHORDS).tocsr(),
        b_ub=np.maximum(room_w, 0.0),
        bounds=np.stack([np.zeros(length_w.size), length_w.T.ravel()], axis=1),
        method="highs",
    )
    return problem.value(problem.floor_w + found.x.reshape(CHORDS, jobs).sum(axis=0))


def gaps(seeds):
    """Shares of the lost work that the optimum would have saved."""
    found = []
    for seed in seeds:
        problem, floors, answer = answered(question(seed))
        if (floors.missing_w > 0).any():
            continue
        best = best_value(problem)
        lost = problem.most() - best
        if lost > 1e-6 * problem.most():
            found.append(max(0.0, best - problem.value(answer.watts)) / lost)
    return np.array(found)


def test_on_a_hundred_random_small_sites_hardly_any_work_is_lost_to_the_optimum():
    found = gaps(range(100))

    assert len(found) > 50
    assert found.mean() <= 0.0015
    assert (found > 0.01).sum() <= 2
    assert found.max() <= 0.03


def test_polish_finds_what_prices_leave_on_the_table(monkeypatch):
    polished = gaps(range(100))
    monkeypatch.setattr(allocate, "FEW_JOBS", 0)
    plain = gaps(range(100))

    assert polished.mean() < 0.8 * plain.mean()
    assert (polished > 0.01).sum() < (plain > 0.01).sum()
