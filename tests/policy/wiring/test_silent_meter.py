"""A meter that falls silent, and a node that speaks for boards of another."""

import numpy as np
import pytest

from easyrider.messages import JobEvent
from easyrider.tree import Domain, Leases, Node, NodeClass, Rules
from easyrider_policy.core.commands import Wanted
from easyrider_policy.core.control import Control
from easyrider_policy.core.fleet import Board, Fleet, build
from easyrider_policy.core.jobbook import JobBook
from easyrider_policy.core.unmanaged import Estimates
from easyrider_policy.core.walls import Walls


def fleet() -> Fleet:
    """One PDU, nodes `a` and `b` of two boards."""
    box = NodeClass(overhead_w=100.0, overhead_slope=1.0, gpu_min_w=200.0, gpu_max_w=700.0, gpu_count=2)
    nodes = tuple(Node(id=n, domain="pdu", node_class="box", fallback_w_per_gpu=200.0) for n in "ab")
    pdu = Domain(id="pdu", kind="pdu", rating_w=3000.0, meters=("m",))
    boards = [Board(uuid=f"{n}{i}", node=n, min_w=200.0, max_w=700.0) for n in "ab" for i in (0, 1)]
    return build(Rules(id="site", version=1, domains=(pdu,), classes={"box": box}, nodes=nodes), boards)


def test_what_a_meter_taught_counts_for_nothing_while_it_is_silent_and_again_afterwards():
    walls = Walls(fleet())
    walls.offset_w[:], walls.lessons[:] = 150.0, 100.0
    foreign_w = np.array([600.0])

    assert walls.standing_w(foreign_w) == pytest.approx([150.0])
    walls.doubt([0])
    assert walls.standing_w(foreign_w) == pytest.approx([200.0 + 600.0])
    walls.doubt([])
    assert walls.standing_w(foreign_w) == pytest.approx([150.0])


def test_a_meter_that_falls_silent_sends_every_vector_in_flight_anew_as_a_dropped_limit_does(monkeypatch):
    site = fleet()
    control, seen = Control(site, Leases(), "site", "r"), []
    monkeypatch.setattr(control.commands, "compose", lambda *args: seen.append(args[6]))  # `limit_dropped`
    wanted = Wanted(
        limit_w=np.full(4, np.nan), managed=np.ones(4, dtype=np.bool_), job=np.full(4, -1, dtype=np.int64)
    )
    speaks = Estimates(np.zeros(1), np.zeros(1, dtype=np.bool_))
    silent = Estimates(np.zeros(1), np.zeros(1, dtype=np.bool_), {0: "meter:pdu"})

    for estimates in (speaks, speaks, silent, silent, speaks):
        control.orders(1.0, wanted, site.hard_w, estimates)

    assert seen == [True, False, True, False, False]  # the first look knows of no limit before


def test_a_node_speaks_for_its_own_boards_alone():
    book, site = JobBook(), fleet()
    event = JobEvent(
        region="r", node="b", boot_id="x", job="j", change="started", type_key="t", priority_class="", tenant="",
        queue="", gpus=("a0", "b1"), started_ns=0, t_ns=0, mono_ns=0,
    )  # fmt: skip
    book.heard(event, 1.0)

    (labels,) = book.labels(site)

    assert [site.gpus[row] for row in labels.gpus] == ["b1"]
