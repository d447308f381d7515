"""Samples of nodes on their own beats become rows that end together."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from wired_box import Box
from wired_site import rules

from easyrider_policy.core.fleet import Board, Fleet, build
from easyrider_policy.core.gather import MOST_ROWS, Gathering


def fleet(nodes: str = "ab") -> Fleet:
    boards = [Board(uuid=u, node=n, min_w=200.0, max_w=700.0) for n in nodes for u in Box(n).uuids]
    return build(rules(), boards)


@given(beats=st.lists(st.tuples(st.sampled_from([0, 1]), st.integers(1, 15)), max_size=12))
def test_the_newest_row_of_every_board_is_the_last_and_none_is_lost_before_ten(
    beats: list[tuple[int, int]],
) -> None:
    gathering, count = Gathering(fleet()), 0
    told: list[list[float]] = [[], []]
    for node, rows in beats:
        watts = [float(count + i) for i in range(rows)]
        count += rows
        told[node] += watts
        boards = np.array([2 * node, 2 * node + 1])
        gathering.add(boards, np.repeat(np.array(watts)[:, None], 2, axis=1), np.array([500.0, 500.0]))

    taken = gathering.take()

    assert 1 <= len(taken) <= MOST_ROWS
    for node in (0, 1):
        column = taken[:, 2 * node]
        want = told[node][-MOST_ROWS:]
        assert column[np.isfinite(column)].tolist() == want
        assert not want or column[-1] == want[-1]
    assert np.isnan(gathering.take()).all(), "taken once"


def test_an_invalid_limit_keeps_the_last_valid_one() -> None:
    gathering = Gathering(fleet())
    boards = np.array([0, 1])

    gathering.add(boards, np.zeros((1, 2)), np.array([500.0, 600.0]))
    gathering.add(boards, np.zeros((1, 2)), np.array([np.nan, 550.0]))

    assert gathering.limit_w[:2].tolist() == [500.0, 550.0]


def test_limits_follow_their_boards_to_another_fleet() -> None:
    before, after = fleet("b"), fleet("ab")
    gathering = Gathering(before)
    gathering.add(np.array([0, 1]), np.zeros((1, 2)), np.array([500.0, 600.0]))

    moved = gathering.carried(before, after)

    assert np.isnan(moved.limit_w[:2]).all()
    assert moved.limit_w[2:].tolist() == [500.0, 600.0]
