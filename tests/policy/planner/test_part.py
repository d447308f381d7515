"""Some jobs of a layout are the layout of these jobs."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_world import site

from easyrider_policy.core.layout import Job, Layout, layout
from easyrider_policy.core.part import part
from easyrider_policy.core.weights import loads

FLEET = site()


@st.composite
def some_jobs(draw):
    """Up to six jobs that scatter over the boards of four nodes, and some of them."""
    of_board = draw(st.lists(st.integers(-1, 5), min_size=32, max_size=32))
    jobs = [
        Job(
            id=f"j{job}",
            gpus=tuple(row for row, of in enumerate(of_board) if of == job),
            weight=draw(st.sampled_from([1.0, 2.0])),
            flex_tier=draw(st.sampled_from([0, 10])),
            mode=draw(st.sampled_from(["pilot", "enforce"])),
        )
        for job in range(6)
        if job in of_board
    ]
    kept = draw(st.sets(st.integers(0, max(0, len(jobs) - 1)), max_size=len(jobs)))
    return jobs, sorted(kept) if jobs else []


def same(one: Layout, other: Layout, name: str) -> bool:
    """Whether a field of both says the same."""
    a, b = getattr(one, name), getattr(other, name)
    if name == "yield_order":
        return len(a) == len(b) and all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    return name in ("fleet", "levels") or a == b


@given(some_jobs())
def test_some_jobs_of_a_layout_are_as_a_layout_made_of_them_alone(some):
    jobs, kept = some
    rows = np.array(kept, dtype=np.int64)

    few = part(layout(FLEET, jobs), rows)
    alone = layout(FLEET, [jobs[row] for row in kept])

    assert [field.name for field in fields(Layout) if not same(few.layout, alone, field.name)] == []


@given(some_jobs())
def test_what_some_jobs_weigh_is_what_they_weigh_alone(some):
    jobs, kept = some
    whole, factor = layout(FLEET, jobs), np.linspace(1.0, 1.03, 32)

    few = part(whole, np.array(kept, dtype=np.int64))
    there, alone = few.loads(loads(whole, factor, factor + 0.01)), loads(few.layout, factor, factor + 0.01)

    for name in ("at_leaf", "normal", "worst", "per_job"):
        assert getattr(there, name) == pytest.approx(getattr(alone, name)), name
