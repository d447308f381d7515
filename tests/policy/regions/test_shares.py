"""Sharing watts over concave curves on nested budgets: best where it can be checked, and never above a budget."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from easyrider_policy.core.region_shares import POINTS, Claim, concave, filled, share, thinned

DOMAINS = ((1.0, 1.0, 0.0), (1.0, 0.0, 1.0))
"""A root and two rows: what each carries of a watt in the first and in the second row."""


def claim(row: int, points: list[tuple[float, float]], floor_w: float = 0.0, most_w: float = 1e3) -> Claim:
    curve_w, curve_value = concave(np.array([w for w, _ in points]), np.array([v for _, v in points]))
    return Claim(
        floor_w=floor_w,
        most_w=most_w,
        curve_w=curve_w,
        curve_value=curve_value,
        carried=np.array(DOMAINS[row]),
    )


def worth(claims: list[Claim], watts: Any) -> float:
    return sum(float(np.interp(w, c.curve_w, c.curve_value)) for c, w in zip(claims, watts, strict=True))


curves = st.lists(st.tuples(st.integers(1, 6), st.floats(0.01, 5.0)), min_size=1, max_size=3)


@settings(max_examples=60, deadline=None)
@given(
    shapes=st.lists(st.tuples(st.integers(0, 1), curves), min_size=1, max_size=3),
    root=st.integers(0, 12),
    rows=st.tuples(st.integers(0, 8), st.integers(0, 8)),
)
def test_no_other_sharing_of_whole_watts_is_worth_more(shapes, root, rows):
    claims = []
    for row, steps in shapes:
        slopes = sorted((slope for _, slope in steps), reverse=True)
        points, at = [(0.0, 0.0)], (0.0, 0.0)
        for (width, _), slope in zip(steps, slopes, strict=True):
            at = (at[0] + width, at[1] + width * slope)
            points.append(at)
        claims.append(claim(row, points))
    budget_w = np.array([float(root), float(rows[0]), float(rows[1])])

    found = share(claims, budget_w)

    carried = sum(c.carried * w for c, w in zip(claims, found.watts, strict=True))
    assert (carried <= budget_w + 1e-6).all()
    best = 0.0
    for watts in itertools.product(*(range(int(c.curve_w[-1]) + 1) for c in claims)):
        drawn = sum(c.carried * w for c, w in zip(claims, watts, strict=True))
        if (drawn <= budget_w + 1e-9).all():
            best = max(best, worth(claims, watts))
    assert worth(claims, found.watts) >= best - 1e-6


def test_floors_are_given_in_any_case_and_what_is_missing_is_told():
    found = share([claim(0, [(400.0, 0.0)], floor_w=400.0), claim(1, [(300.0, 0.0)], floor_w=300.0)],
                  np.array([600.0, 1e9, 1e9]))  # fmt: skip

    assert found.watts.tolist() == [400.0, 300.0]
    assert found.short_w.tolist() == [100.0, 0.0, 0.0]


def test_what_a_scope_needs_before_its_jobs_yield_goes_before_any_worth():
    needy = claim(0, [(300.0, 0.0), (400.0, 1.0)], floor_w=100.0)
    rich = claim(1, [(100.0, 0.0), (400.0, 900.0)], floor_w=100.0)

    found = share([needy, rich], np.array([500.0, 1e9, 1e9]))

    assert found.watts.tolist() == pytest.approx([300.0, 200.0])


def test_the_steps_are_the_curve_that_the_own_parent_is_told():
    claims = [claim(0, [(0.0, 0.0), (100.0, 10.0)]), claim(1, [(0.0, 0.0), (100.0, 50.0), (200.0, 55.0)])]

    found = share(claims, np.array([np.inf, 1e9, 1e9]))

    assert found.path_w.tolist() == [0.0, 100.0, 200.0, 300.0]
    assert found.path_value.tolist() == pytest.approx([0.0, 50.0, 60.0, 65.0])


def test_what_nobody_has_use_for_is_handed_out_too_within_every_budget():
    claims = [claim(0, [(100.0, 0.0)], 100.0, 500.0), claim(1, [(100.0, 0.0)], 100.0, 300.0)]
    budget_w = np.array([700.0, 250.0, 1e9])

    held_w = filled(claims, np.array([100.0, 100.0]), budget_w)

    assert held_w.tolist() == pytest.approx([250.0, 300.0], abs=1.0)


@given(st.lists(st.tuples(st.floats(0, 1e4), st.floats(0, 1e3)), min_size=1, max_size=40))
def test_a_curve_is_concave_and_promises_nothing_above_what_was_seen(points):
    watts, value = concave(np.array([w for w, _ in points]), np.array([v for _, v in points]))

    slopes = np.diff(value) / np.diff(watts)
    assert (np.diff(slopes) <= 1e-6 * np.abs(slopes[:-1]).max(initial=1.0)).all()
    assert set(value.tolist()) <= {v for _, v in points}
    assert len(thinned(watts, value)[0]) <= max(POINTS, len(watts) if len(watts) <= POINTS else 0)
