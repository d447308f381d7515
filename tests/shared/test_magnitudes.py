"""Numbers that no site can mean are refused where the rules are read, each with its place."""

from dataclasses import replace
from typing import Any

import pytest

from easyrider.errors import BadTree
from easyrider.magnitudes import check_magnitudes
from easyrider.records import Faults
from easyrider.tree import Domain, Leases, LoadTarget, Node, NodeClass, Pacing, PriorityClass, Rules
from easyrider.tree_reader import read, read_document, to_document

RULES = Rules(
    id="t",
    version=1,
    domains=(Domain(id="pdu", kind="pdu", rating_w=2e4),),
    classes={"h": NodeClass(overhead_w=900.0, overhead_slope=1.1, gpu_max_w=700.0)},
    nodes=(Node(id="n", domain="pdu", node_class="h", fallback_w_per_gpu=200.0),),
    priorities={"normal": PriorityClass()},
)


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({"domains": (Domain(id="pdu", kind="pdu", rating_w=1e300),)}, "domains[pdu].rating_w"),
        ({"domains": (Domain(id="pdu", kind="pdu", rating_w=1e-300),)}, "domains[pdu].rating_w"),
        (
            {"classes": {"h": NodeClass(overhead_w=900.0, overhead_slope=1.1, gpu_max_w=1e308)}},
            "classes.h.gpu_max_w",
        ),
        ({"priorities": {"normal": PriorityClass(weight=1e308)}}, "priorities.normal.weight"),
        ({"priorities": {"normal": PriorityClass(weight=1e-308)}}, "priorities.normal.weight"),
        ({"leases": Leases(second_stage_s=1e308)}, "leases.second_stage_s"),
        ({"leases": Leases(leader_lease_s=1e-308)}, "leases.leader_lease_s"),
        ({"leases": Leases(leader_lease_s=1.5)}, "leases.leader_lease_s"),
        ({"pacing": Pacing(cooldown_s=1e308)}, "pacing.cooldown_s"),
        ({"pilot_floor_w": 1e308}, "pilot_floor_w"),
        ({"margin_w": 1e300}, "margin_w"),
        (
            {
                "targets": (
                    LoadTarget(
                        id="grid", domain="pdu", begins="2030-01-01T00:00:00Z", ends="2030-01-01T01:00:00Z",
                        target_w=1e12,
                    ),
                )
            },
            "targets[grid].target_w",
        ),
    ],
)  # fmt: skip
def test_a_number_beyond_all_sense_is_refused_with_its_place(changed: dict[str, Any], place: str) -> None:
    with pytest.raises(BadTree) as refused:
        read_document(to_document(replace(RULES, **changed)), "rules.yaml")

    assert any(fault.startswith(f"{place} is ") for fault in refused.value.faults), refused.value.faults


def test_the_numbers_of_a_real_site_pass() -> None:
    faults = Faults()
    check_magnitudes(RULES, faults)

    assert faults == []


def test_every_number_of_the_document_has_a_most() -> None:
    assert read_document(to_document(RULES), "rules.yaml") == RULES
    huge = to_document(RULES)
    for section in ("pacing", "leases", "gates"):
        for key, value in huge[section].items() if section in huge else ():
            if isinstance(value, float):
                with pytest.raises(BadTree, match=rf"{section}\.{key} "):
                    read_document({**huge, section: {**huge[section], key: 1e300}}, "rules.yaml")


def test_a_number_to_the_base_of_sixty_is_a_text() -> None:
    with pytest.raises(BadTree, match=r"rating_w is '3:20' where a number is expected"):
        read(
            "tree: {id: t, version: 1}\n"
            "domains: [{id: pdu, kind: pdu, rating_w: 3:20}]\n"
            "classes: {h: {overhead_w: 900, overhead_slope: 1.1}}\n"
            "nodes: [{id: n, domain: pdu, class: h, fallback_w_per_gpu: 200}]\n",
            "rules.yaml",
        )
