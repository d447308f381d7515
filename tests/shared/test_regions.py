"""Regions in a rules document: what is refused, with names, and the part that each scope governs."""

from typing import Any

import pytest
import yaml

from easyrider.errors import BadTree
from easyrider.scopes import children, depth, owners, part_of
from easyrider.tree import Rules
from easyrider.tree_reader import dump, read

TOP = {"id": "site"}
HALL = {"id": "hall", "parent": "site", "domain": "row-a", "guaranteed_w": 9000.0}
RACK = {"id": "rack", "parent": "hall", "domain": "rack-a", "guaranteed_w": 4000.0}


def document(*regions: dict[str, Any]) -> dict[str, Any]:
    """A feed with two rows, the first with a rack of its own; a node in the rack, one in each row, one on the feed."""
    domains = {"feed": None, "row-a": "feed", "row-b": "feed", "rack-a": "row-a"}
    return {
        "tree": {"id": "site", "version": 1},
        "domains": [
            {"id": name, "kind": "pdu", "rating_w": 30000.0, "fixed_w": 10.0}
            | ({} if parent is None else {"parent": parent})
            for name, parent in domains.items()
        ],
        "classes": {"h": {"overhead_w": 100.0, "overhead_slope": 1.2}},
        "nodes": [
            {"id": f"in-{name}", "domain": name, "class": "h", "fallback_w_per_gpu": 200.0}
            for name in domains
        ],
        "regions": list(regions),
    }


def rules(*regions: dict[str, Any]) -> Rules:
    return read(yaml.safe_dump(document(*regions)), "rules")


@pytest.mark.parametrize(
    ("regions", "told"),
    [
        ([TOP, HALL | {"parent": "nowhere"}], "regions[hall].parent names 'nowhere', which is no region"),
        ([TOP, HALL, HALL | {"domain": "row-b"}], "regions[hall] stands 2 times"),
        ([TOP, HALL, RACK | {"domain": "row-a"}], "regions[rack].domain is 'row-a', which 'hall' claims too"),
        (
            [TOP, HALL | {"parent": "rack"}, RACK],
            "regions[hall] is its own parent: hall < rack < hall",
        ),
        ([HALL | {"parent": "hall"}, TOP], "regions[hall] is its own parent: hall < hall"),
        ([TOP, {"id": "other"}], "has 2 without a parent (site, other)"),
        ([HALL], "has 0 without a parent"),
        ([TOP, HALL, RACK | {"parent": "site"}], "hangs below 'row-a' in region 'hall'"),
        ([TOP, HALL | {"domain": "feed"}], "is 'feed', a root"),
        ([TOP, HALL | {"domain": "nothing"}], "regions[hall].domain names 'nothing', which is no domain"),
        ([TOP, HALL | {"guaranteed_w": -1.0}], "regions[hall].guaranteed_w is -1, not above 0"),
        ([TOP, {"id": "hall", "parent": "site", "domain": "row-a"}], "regions[hall].guaranteed_w is missing"),
        ([TOP | {"domain": "feed"}], "regions[site].domain is not for the top"),
        ([TOP, HALL | {"id": "a.b"}], "regions[a.b].id"),
    ],
)
def test_regions_that_do_not_hang_together_are_refused_by_name(
    regions: list[dict[str, Any]], told: str
) -> None:
    with pytest.raises(BadTree) as fault:
        rules(*regions)

    assert told in str(fault.value)


def test_a_domain_fed_from_two_regions_is_refused() -> None:
    words = document(TOP, HALL)
    words["domains"].append(
        {"id": "both", "kind": "rack", "rating_w": 9.0e3, "feeds": {"A": "row-a", "B": "row-b"}}
    )

    with pytest.raises(BadTree, match="row-a in hall, row-b in site"):
        read(yaml.safe_dump(words), "rules")


def test_every_domain_and_node_belongs_to_exactly_one_scope() -> None:
    site = rules(TOP, HALL, RACK)

    assert owners(site) == {"feed": "site", "row-b": "site", "row-a": "hall", "rack-a": "rack"}
    assert {name: [node.id for node in part_of(site, name).nodes] for name in ("site", "hall", "rack")} == {
        "site": ["in-feed", "in-row-b"],
        "hall": ["in-row-a"],
        "rack": ["in-rack-a"],
    }


def test_a_parent_sees_of_a_region_its_domain_with_the_guaranteed_share_always_drawn() -> None:
    part = part_of(rules(TOP, HALL, RACK), "site")

    (seen,) = [domain for domain in part.domains if domain.id == "row-a"]
    assert [domain.id for domain in part.domains] == ["feed", "row-a", "row-b"]
    assert (seen.parent, seen.fixed_w) == ("feed", 9000.0)


def test_the_domain_of_a_region_is_the_root_of_its_own_part() -> None:
    part = part_of(rules(TOP, HALL, RACK), "hall")

    assert [(domain.id, domain.parent) for domain in part.domains] == [("row-a", None), ("rack-a", "row-a")]
    assert part.domains[0].fixed_w == 10.0


def test_a_name_that_is_no_scope_is_refused_with_those_that_are() -> None:
    with pytest.raises(BadTree, match="region 'aisle' is no scope of this tree, which has site, hall, rack"):
        part_of(rules(TOP, HALL, RACK), "aisle")


def test_a_document_without_regions_is_one_scope_of_any_name() -> None:
    whole = rules()

    assert part_of(whole, "anything") is whole
    assert children(whole, "anything") == ()


def test_regions_hang_three_levels_deep_and_survive_being_written() -> None:
    site = rules(TOP, HALL, RACK)

    assert (depth(site, "site"), depth(site, "hall"), depth(site, "rack")) == (2, 1, 0)
    assert read(dump(site).decode(), "again") == site


def test_a_region_lease_is_short_where_a_loss_is_planned() -> None:
    words = document(TOP, HALL)
    assert read(yaml.safe_dump(words), "rules").region_lease_s == 30.0

    words["domains"][0]["contingencies"] = [{"name": "one_lost", "hard_limit_w": 20000.0}]
    assert read(yaml.safe_dump(words), "rules").region_lease_s == 10.0
