"""What is in flight to many nodes, told at once or one by one."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from small_site import BOX, rules

from easyrider.tree import Node
from easyrider_policy.core.fleet import Board, Fleet, build
from easyrider_policy.core.outbox import Outbox
from easyrider_policy.core.silence import Key

SIZES = (2, 0, 3, 1, 4)
"""Boards of each node: one has none."""


def uneven() -> Fleet:
    known = rules()
    nodes = tuple(
        Node(id=f"n{at}", domain="pdu", node_class="box", fallback_w_per_gpu=250.0)
        for at in range(len(SIZES))
    )
    boards = [
        Board(uuid=f"n{at}-{board}", node=f"n{at}", min_w=200.0, max_w=700.0)
        for at, size in enumerate(SIZES)
        for board in range(size)
    ]
    changed = type(known)(id="site", version=1, domains=known.domains, classes={"box": BOX}, nodes=nodes)
    return build(changed, boards)


WATTS = st.lists(
    st.sampled_from([np.nan, 200.0, 300.0, 450.0]), min_size=sum(SIZES), max_size=sum(SIZES)
).map(np.array)
SOME = st.sets(st.integers(0, len(SIZES) - 1)).map(sorted)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(SOME, WATTS, WATTS, SOME), min_size=1, max_size=6))
def test_vectors_of_many_nodes_are_booked_as_one_after_the_other_would_be(turns) -> None:
    fleet = uneven()
    together, singly = Outbox(fleet), Outbox(fleet)
    for seq, (nodes, limit_w, fallback_w, answered) in enumerate(turns, 1):
        key = Key(1, seq)
        together.all_sent(np.array(nodes, dtype=np.int64), [key] * len(nodes), limit_w, fallback_w)
        for node in nodes:
            boards = fleet.gpus_of(node)
            singly.sent(node, key, limit_w[boards], fallback_w[boards])
        for node in answered:
            assert np.array_equal(
                together.answered(node, Key(1, seq - 1)), singly.answered(node, Key(1, seq - 1))
            )

        assert np.array_equal(together.highest_w, singly.highest_w)
        assert np.array_equal(together.in_flight, singly.in_flight)
        for node, size in enumerate(SIZES):
            here, there = together.vectors[node], singly.vectors[node]
            assert [(one.key, one.copies) for one in here] == [(one.key, one.copies) for one in there]
            most_w = np.max([one.most_w for one in here], axis=0, initial=0.0) if here else np.zeros(size)
            assert np.array_equal(together.highest_w[fleet.gpus_of(node)], most_w)
