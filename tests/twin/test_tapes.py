"""A tape says how long a row surely lasts, so that nobody has to ask it at every step."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from easyrider_twin.tapes import Tape

UNEVEN_S = np.array([0.0, 0.4, 1.9, 2.0, 5.5])
EVEN_S = np.arange(8) * 0.1


def tape(edges_s: np.ndarray, begin_s: float, loop_from_s: float | None) -> Tape:
    rows = len(edges_s) - 1
    return Tape(
        edges_s=edges_s,
        draw_w=np.zeros((rows, 1), dtype=np.float32),
        work=np.ones(rows, dtype=np.bool_),
        present=np.ones(rows, dtype=np.bool_),
        busy_pct=np.zeros(rows, dtype=np.uint8),
        begin_s=begin_s,
        loop_from_s=loop_from_s,
    )


@pytest.mark.parametrize("edges_s", [UNEVEN_S, EVEN_S])
@given(
    played_s=st.floats(0, 50),
    into=st.floats(0, 1, exclude_max=True),
    begin_s=st.floats(0, 0.6),
    loops=st.booleans(),
)
def test_a_row_lasts_as_long_as_the_tape_says(
    edges_s: np.ndarray, played_s: float, into: float, begin_s: float, loops: bool
) -> None:
    played = tape(edges_s, begin_s, 0.1 if loops else None)
    until_s = played.same_until_s(played_s)
    later_s = played_s + into * (min(until_s, played_s + 100.0) - played_s)

    if later_s >= played_s:
        assert played.row(later_s) == played.row(played_s)


@pytest.mark.parametrize("edges_s", [UNEVEN_S, EVEN_S])
def test_it_says_so_until_just_before_the_next_row(edges_s: np.ndarray) -> None:
    played = tape(edges_s, 0.0, 0.0)

    assert played.same_until_s(0.0) == pytest.approx(edges_s[1], abs=1e-5)


def test_a_tape_that_is_over_stays_so() -> None:
    assert tape(UNEVEN_S, 0.0, None).same_until_s(6.0) == math.inf
