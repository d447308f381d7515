"""A release is foretold from what was counted: where what it rests on is unknown, that is said and nothing allowed."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from easyrider.tree import Domain, ModeRule, Node, NodeClass, Region, Rules
from easyrider_policy.core.fleet import Board, build
from easyrider_policy.core.foretelling import Foretold, foretell
from easyrider_policy.core.foretold import lacking_w
from easyrider_policy.core.gathered import gathered
from easyrider_policy.core.unforetold import Unforetold

BEFORE = Rules(
    id="s",
    version=1,
    domains=(
        Domain(id="ups", kind="ups", rating_w=2000.0),
        Domain(id="pdu", kind="pdu", parent="ups", rating_w=1000.0),
        Domain(id="far", kind="pdu", parent="ups", rating_w=1000.0),
    ),
    classes={"b": NodeClass(overhead_w=0.0, overhead_slope=1.0)},
    nodes=tuple(
        Node(id=name, domain=domain, node_class="b", fallback_w_per_gpu=100.0)
        for name, domain in (("n", "pdu"), ("m", "far"))
    ),
    modes=(ModeRule(selector={"node": ("*",)}, mode="enforce"),),
)
AFTER = replace(BEFORE, modes=(ModeRule(selector={"node": ("n",)}, mode="observe"), *BEFORE.modes), version=2)
ROOM_W = {"ups": 1000.0, "pdu": 700.0, "far": 700.0}


def state(**other: Any) -> dict[str, Any]:
    """One board at 200 W, found with 700, that room is left for."""
    board = {
        "uuid": "g", "node": "n", "min_w": 100.0, "max_w": 700.0, "settable": True, "controlled": True,
        "baseline_w": 700.0, "counted_w": 200.0, "overshoot": 1.0,
    }  # fmt: skip
    rows = [{"domain": d, "room_w": w, "hard_limit_w": 1000.0, "held": []} for d, w in ROOM_W.items()]
    nodes = [{"node": name, "held": False} for name in "nm"]
    return {"boards": [board], "jobs": [], "domains": rows, "nodes": nodes, "left_out": {}} | other


def foretold(told: dict[str, Any], before: Rules = BEFORE, after: Rules = AFTER) -> Foretold:
    return foretell(before, after, told, "local")


def rooms(**other: float | None) -> list[dict[str, Any]]:
    return [row | {"room_w": other.get(row["domain"], row["room_w"])} for row in state()["domains"]]


def test_where_all_is_known_and_there_is_room_it_is_allowed() -> None:
    assert foretold(state()) == Foretold(gpus=1, nodes=("n",))


@pytest.mark.parametrize("domain", ["ups", "pdu"])
def test_a_domain_above_that_is_not_counted_yet_allows_nothing(domain: str) -> None:
    with pytest.raises(Unforetold, match=f"{domain} .*ask again"):
        foretold(state(domains=rooms(**{domain: None})))


@pytest.mark.parametrize("domain", ["ups", "pdu"])
def test_a_domain_above_that_the_state_does_not_tell_of_allows_nothing_for_it_may_be_held(
    domain: str,
) -> None:
    rows = [row for row in state()["domains"] if row["domain"] != domain]

    with pytest.raises(Unforetold, match=domain):
        foretold(state(domains=rows))


def test_a_domain_elsewhere_that_is_not_counted_stops_nothing() -> None:
    assert foretold(state(domains=rooms(far=None))).gpus == 1


def test_a_node_whose_guardian_may_hold_is_not_taken_for_one_that_does_not() -> None:
    with pytest.raises(Unforetold, match="node n"):
        foretold(state(nodes=[{"node": "m", "held": False}]))


@pytest.mark.parametrize("section", ["boards", "jobs", "domains", "nodes"])
def test_rows_that_had_no_room_in_the_answer_are_not_taken_for_none(section: str) -> None:
    with pytest.raises(Unforetold, match=r"7 .* no answer"):
        foretold(state(left_out={section: 7}))


def test_what_a_region_is_guaranteed_counts_although_nobody_tells_how_much_of_it_is_used() -> None:
    regions = (Region(id="local"), Region(id="hall", parent="local", domain="far", guaranteed_w=900.0))

    with pytest.raises(Unforetold, match="far"):
        foretold(state(domains=rooms(far=None)), replace(BEFORE, regions=regions), AFTER)


def test_where_nothing_is_to_leave_nothing_need_be_known() -> None:
    assert foretold(state(domains=[]), BEFORE, BEFORE) == Foretold(gpus=0, nodes=())


def test_rows_of_every_list_that_regions_left_out_are_counted_together() -> None:
    regions = (Region(id="local"), Region(id="hall", parent="local", domain="far"))
    below = state(boards=[], left_out={"nodes": 2, "domains": 1})
    top = state(left_out={"nodes": 3})

    found = gathered(replace(BEFORE, regions=regions), {"local": top, "hall": below}, "local")

    assert (found["left_out"]["nodes"], found["left_out"]["domains"]) == (5, 1)


def test_a_sum_that_is_unknown_is_lacking_and_never_enough() -> None:
    fleet = build(BEFORE, [Board(uuid="g", node="n", min_w=100.0, max_w=700.0, settable=True)])
    rows = np.array([ROOM_W[name] for name in fleet.domains])
    rows[fleet.domain_index["pdu"]] = np.nan

    found = lacking_w(
        fleet, np.array([200.0]), np.ones(1), np.array([700.0]), np.zeros(1, dtype=np.bool_), rows
    )

    assert list(found) == ["pdu"]
