"""What jobs that cross coordinators are said to wish for, where it is a hard limit that binds them."""

from dataclasses import replace

import numpy as np
import pytest
from small_world import MAX_W, MIN_W, OVERHEAD_W, SLOPE, World, load

from easyrider.tree import Domain, Feeds, Node, NodeClass, Rules
from easyrider_policy.core import crossing
from easyrider_policy.core.fleet import Board, Fleet, build
from easyrider_policy.core.solve import solve

HARD_W = 2 * OVERHEAD_W + 16 * SLOPE * 480.0


def two_feeds() -> Fleet:
    """Two boxes of eight boards on a rack with two feeds: each of them must carry all of it alone."""
    feeds = tuple(
        Domain(id=name, kind="feed", rating_w=2 * HARD_W, hard_limit_w=HARD_W, target_w=HARD_W)
        for name in "AB"
    )
    rack = Domain(id="rack", kind="rack", feeds=Feeds(A="A", B="B"), rating_w=4 * HARD_W)
    nodes = tuple(Node(id=f"n{i}", domain="rack", node_class="box", fallback_w_per_gpu=MIN_W) for i in (0, 1))
    box = NodeClass(overhead_w=OVERHEAD_W, overhead_slope=SLOPE)
    boards = [
        Board(uuid=f"n{i}g{g}", node=f"n{i}", min_w=MIN_W, max_w=MAX_W) for i in (0, 1) for g in range(8)
    ]
    return build(Rules(id="s", version=1, domains=(*feeds, rack), classes={"box": box}, nodes=nodes), boards)


def test_under_a_hard_limit_a_wish_is_reckoned_by_what_counts_there_and_not_by_what_is_drawn():
    world = World(two_feeds(), [load("crosses", range(8), 650.0), load("own", range(8, 16), 650.0)])
    world.run(60)
    free = world.memory.solution
    echo = np.array([0.8 * crossing.wishes(free, None)[0], 1.0])

    bound = solve(
        world.placed, replace(free.question, ceiling_w=np.array([echo[0] * free.problem.peak_w[0], np.inf]))
    )

    assert free.allocation.hard_binds[[0, 1]].any()
    assert crossing.wishes(free, None)[0] < 0.85
    # Equal jobs, one of them held: it wishes for what the other one has, at the price of the other one.
    own = bound.allocation.watts[1] / bound.problem.peak_w[1]
    assert crossing.wishes(bound, echo)[0] == pytest.approx(own, abs=0.02)
