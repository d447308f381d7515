"""Whatever numbers arrive, the core answers: finite watts within range, or none."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from easyrider_forecaster.core import alias, drift, period
from easyrider_forecaster.core.bank import Bank

ANY = st.floats(allow_nan=True, allow_infinity=True, width=64) | st.sampled_from([0.0, 500.0, 700.0, -1.0])


@settings(max_examples=60, deadline=None)
@given(
    values=arrays.arrays(
        np.float64, st.tuples(st.integers(0, 3), st.integers(0, 400)), elements=ANY, fill=ANY
    ),
    rating_w=st.floats(1.0, 2000.0),
    period_s=st.floats(0.1, 40.0) | st.just(float("nan")),
)
def test_no_array_makes_detection_fail(values: np.ndarray, rating_w: float, period_s: float) -> None:
    rows = len(values)
    max_w = np.full(rows, rating_w)

    found = period.detect(values)
    changed, since_s = drift.moved(values, np.full(rows, period_s), max_w)

    assert ((found.period_s > 0) | np.isnan(found.period_s)).all()
    assert found.agreed.shape == alias.suspect(values, max_w).shape == (rows,)
    assert alias.boards_agree(values, values, np.full(rows, 8)).shape == (rows,)
    assert alias.counter_is_true(values, values[::-1], max_w).shape == (rows,)
    assert alias.counter_shows(values, values[::-1]).shape == (rows,)
    assert (np.isfinite(since_s) == changed).all()


@settings(max_examples=15, deadline=None)
@given(
    block=arrays.arrays(np.float64, (3, 10), elements=ANY, fill=ANY),
    instant=arrays.arrays(np.float64, (3, 10), elements=ANY, fill=ANY),
    limit_w=st.none() | arrays.arrays(np.float64, (3,), elements=ANY, fill=ANY),
    again=st.integers(1, 14),
)
def test_no_array_makes_the_forecaster_fail_or_leave_the_range_of_its_boards(
    block: np.ndarray, instant: np.ndarray, limit_w: np.ndarray | None, again: int
) -> None:
    rating_w = np.array([700.0, 400.0, 1000.0])
    bank = Bank(rating_w, 60.0, domains=np.ones((1, 3)))

    for second in range(again):
        bank.observe(np.roll(block, second, axis=1), instant_w=instant, limit_w=limit_w)
        said = bank.tick()

    whole_w = np.array([2100.0])
    for view, most_w in ((said.demand, rating_w), (said.draw, rating_w), (said.domain_demand, whole_w)):
        for watts in (view.mean_w, view.peak_w, view.q90_w, view.q99_w):
            heard = np.isfinite(watts)
            assert (watts[heard] >= 0.0).all()
            assert ((watts <= most_w[:, None] + 1e-6) | ~heard).all()

    for _ in range(3):
        bank.observe(np.full((3, 10), 300.0))
        said = bank.tick()
    for view in (said.demand, said.draw):
        assert np.isfinite(view.mean_w).all()
        assert np.isfinite(view.q99_w).all()
