"""Allocation on random trees: budgets hold at every level, floors hold, and little is lost to the optimum."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from easyrider.tree import Domain, Feeds, Node, NodeClass, Rules
from easyrider_policy.core import curves
from easyrider_policy.core.allocate import allocate
from easyrider_policy.core.fleet import Board, build
from easyrider_policy.core.floors import fitted
from easyrider_policy.core.layout import Job, layout
from easyrider_policy.core.problem import Problem
from easyrider_policy.core.repair import repaired
from easyrider_policy.core.weights import loads

seeds = st.integers(0, 100_000)


def question(seed, squeeze=None, scattered=True, most_cuts=11):
    """A random tree with jobs on it, some across domains; one in three has racks on two feeds. Wall-watt budgets."""
    rng = np.random.default_rng(seed)
    racks, per_rack = int(rng.integers(1, 7)), int(rng.integers(1, 5))
    domains = [Domain(id="site", kind="site", rating_w=1e9)]
    rows = int(rng.integers(1, 4))
    domains += [Domain(id=f"row{i}", kind="row", parent="site", rating_w=1e9) for i in range(rows)]
    fed_twice = rows > 1 and seed % 3 == 0
    for i in range(racks):
        feeds = (
            Feeds(A=f"row{i % rows}", B=f"row{(i + 1) % rows}") if fed_twice and rng.random() < 0.7 else None
        )
        parent = None if feeds else f"row{i % rows}"
        domains.append(Domain(id=f"rack{i}", kind="rack", parent=parent, feeds=feeds, rating_w=1e9))
    nodes = tuple(
        Node(
            id=f"n{i}", domain=f"rack{i // per_rack}", node_class=str(rng.integers(2)), fallback_w_per_gpu=200
        )
        for i in range(racks * per_rack)
    )
    classes = {
        "0": NodeClass(overhead_w=1600, overhead_slope=1.23),
        "1": NodeClass(overhead_w=900, overhead_slope=1.1),
    }
    rules = Rules(id="t", version=1, domains=tuple(domains), classes=classes, nodes=nodes)
    fleet = build(
        rules, [Board(uuid=f"{n.id}g{g}", node=n.id, min_w=200, max_w=700) for n in nodes for g in range(8)]
    )
    gpus = np.arange(len(fleet.gpus))
    if scattered:
        gpus = gpus.reshape(-1, 4)[rng.permutation(len(gpus) // 4)].ravel()
    cuts = np.sort(
        rng.choice(
            np.arange(1, len(gpus)),
            size=min(len(gpus) - 1, int(rng.integers(1, most_cuts + 1))),
            replace=False,
        )
    )
    jobs = [
        Job(id=f"j{i}", gpus=tuple(part.tolist()), weight=float(rng.choice([1, 2, 4, 8])), mode="enforce")
        for i, part in enumerate(np.split(gpus, cuts))
    ]
    placed = layout(fleet, jobs)
    peak_w = rng.uniform(300, 700, placed.job_count)
    busy = curves.busy_class(rng.uniform(0.4, 1.0, placed.job_count))
    weighed = loads(placed, np.ones(len(fleet.gpus)))
    draft = Problem(
        layout=placed, loads=weighed, boards=placed.gpu_count, peak_w=peak_w, busy=busy,
        floor_w=np.maximum(200.0, peak_w * curves.least_share(np.full(placed.job_count, 0.8), busy)),
        top_w=peak_w, fallback_w=np.full(placed.job_count, 200.0), drawn=weighed.normal,
        drawn_at_leaf=weighed.at_leaf, target_w=np.zeros(len(domains)), hard_w=np.zeros(len(domains)),
    )  # fmt: skip
    most_w = draft.drawn_w(peak_w)
    share = rng.uniform(0.6, 1.1, len(domains)) if squeeze is None else np.full(len(domains), squeeze)
    hard = rng.uniform(0.9, 1.4, len(domains))
    return with_budgets(draft, share * most_w, share * hard * most_w)


def with_budgets(problem, target_w, hard_w, floor_w=None):
    return Problem(
        layout=problem.layout, loads=problem.loads, boards=problem.boards, peak_w=problem.peak_w,
        busy=problem.busy, floor_w=problem.floor_w if floor_w is None else floor_w, top_w=problem.top_w,
        fallback_w=problem.fallback_w, drawn=problem.drawn, drawn_at_leaf=problem.drawn_at_leaf,
        target_w=target_w, hard_w=hard_w,
    )  # fmt: skip


def answered(problem):
    least_w = np.minimum(200.0, problem.top_w)
    floors = fitted(problem, least_w, np.zeros(len(problem.target_w)))
    settled = with_budgets(problem, problem.target_w, problem.hard_w, floors.watts)
    return settled, floors, allocate(settled)


@settings(max_examples=150, deadline=None)
@given(seeds)
def test_no_domain_at_any_level_gets_more_than_its_budgets_unless_it_is_infeasible(seed):
    problem, floors, answer = answered(question(seed))

    met = floors.missing_w == 0
    assert (problem.drawn_w(answer.watts)[met] <= problem.target_w[met] + 1e-3).all()
    assert (problem.held_w(answer.watts)[met] <= problem.hard_w[met] + 1e-3).all()


@settings(max_examples=150, deadline=None)
@given(seeds)
def test_floors_and_natural_draw_bound_every_job(seed):
    problem, floors, answer = answered(question(seed))

    assert (answer.watts >= floors.watts - 1e-6).all()
    assert (answer.watts <= problem.top_w + 1e-6).all()


@settings(max_examples=60, deadline=None)
@given(seeds, st.floats(0.3, 0.9))
def test_a_domain_lacks_watts_exactly_when_minimum_limits_do_not_fit(seed, squeeze):
    problem, floors, _ = answered(question(seed, squeeze))

    least_w = np.minimum(200.0, problem.top_w)
    short = np.maximum(problem.drawn_w(least_w) - problem.target_w, problem.held_w(least_w) - problem.hard_w)
    assert np.allclose(floors.missing_w, np.where(short > 1e-6, short, 0.0), atol=1e-3)


@settings(max_examples=100, deadline=None)
@given(seeds)
def test_no_other_sharing_beats_what_the_certificate_allows(seed):
    problem, floors, answer = answered(question(seed))
    rng = np.random.default_rng(seed)

    value = problem.value(answer.watts)
    lost = problem.most() - value
    # gap = (bound - value) / (most - bound), so the bound lies this far above our value.
    slack = answer.gap * lost / (1.0 + answer.gap)
    for _ in range(20):
        other = repaired(problem, rng.uniform(floors.watts, np.maximum(problem.top_w, floors.watts)))
        assert problem.value(other) <= value + slack + 1e-6 * problem.most()


@pytest.mark.parametrize("scattered", [False, True])
def test_over_many_random_trees_the_certified_gap_is_a_few_thousandths_of_the_lost_work(scattered):
    gaps = []
    for seed in range(120):
        _, floors, answer = answered(question(seed, scattered=scattered))
        if not floors.yielded.any():
            gaps.append(answer.gap)

    assert len(gaps) > 30
    assert np.mean(gaps) < 0.01


@settings(max_examples=60, deadline=None)
@given(seeds, st.floats(0.65, 0.95))
def test_more_watts_at_the_top_never_lose_more_work(seed, squeeze):
    less, more = question(seed, squeeze), question(seed, squeeze + 0.05)

    little, much = answered(less), answered(more)

    if not little[1].yielded.any():
        lost = less.most() - little[0].value(little[2].watts)
        assert more.most() - much[0].value(much[2].watts) <= lost * 1.01 + 1e-6


def test_two_equal_jobs_under_one_budget_get_equal_watts():
    problem = question(5, 0.8, scattered=False)
    same = np.full(problem.layout.job_count, 600.0)
    draft = Problem(
        layout=problem.layout, loads=problem.loads, boards=problem.boards, peak_w=same,
        busy=np.full(problem.layout.job_count, 32), floor_w=same * 0.5, top_w=same, fallback_w=same * 0.3,
        drawn=problem.drawn, drawn_at_leaf=problem.drawn_at_leaf, target_w=problem.target_w, hard_w=problem.hard_w,
    )  # fmt: skip
    most_w = draft.drawn_w(same)
    tight = with_budgets(draft, np.where(np.arange(len(most_w)) == 0, 0.8, 2.0) * most_w, 3 * most_w)
    equal = tight.layout.weight == tight.layout.weight[0]
    slopes = tight.loads.per_job / tight.boards

    watts = allocate(tight).watts

    alike = equal & np.isclose(slopes, slopes[0])
    assert np.ptp(watts[alike]) < 2.0
