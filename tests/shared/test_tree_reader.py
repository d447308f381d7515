"""A rules document is read whole or refused whole, with every fault in one message."""

import contextlib
import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from easyrider.errors import BadTree
from easyrider.tree import Rules
from easyrider.tree_reader import dump, read, to_document

SITE = """
tree: {id: site, version: 3}
domains:
  - {id: ups, kind: ups, rating_w: 20000, supply_modules: 5,
     curve: [{multiple: 1.1, time_s: 60}, {multiple: 1.5, time_s: 1}],
     contingencies: [{name: module, hard_limit_w: 16000}]}
  - {id: a, kind: feed, parent: ups, rating_w: 12000}
  - {id: b, kind: feed, parent: ups, rating_w: 12000}
  - {id: rack, kind: rack, feeds: {A: a, B: b}, rating_w: 18000, meters: [m1]}
classes:
  h100: {overhead_w: 1600, overhead_slope: 1.23, gpu_min_w: 200, gpu_max_w: 700}
nodes:
  - {id: n1, domain: rack, class: h100, fallback_w_per_gpu: 300, boot_guard: true}
modes:
  - {selector: {node: ["n*"], class: [h100]}, mode: enforce, reason: tried}
priorities:
  batch: {weight: 1, max_slowdown: 0.5, flex_tier: 50}
"""


def faults_of(text: str) -> list[str]:
    with pytest.raises(BadTree) as caught:
        read(text, "site.yaml")
    return caught.value.faults


def changed(path: str, value: Any) -> str:
    """The site with one value set; a path of keys and indices."""
    document = yaml.safe_load(SITE)
    *way, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    place = document
    for step in way:
        place = place[step]
    place[last] = value
    return yaml.safe_dump(document, sort_keys=False)


def test_a_whole_document_is_read_with_its_defaults() -> None:
    rules = read(SITE, "site.yaml")

    ups, _a, _b, rack = rules.domains
    assert (rules.id, rules.version) == ("site", 3)
    assert (ups.hard_w, ups.aim_w, ups.smallest_hard_w) == (20000, 16000, 16000)
    assert rack.feeds is not None
    assert rack.feeds.B == "b"
    assert rules.nodes[0].node_class == "h100"
    assert rules.modes[0].selector == {"node": ("n*",), "class": ("h100",)}
    assert rules.leases.dead_man_s == 10.0


def test_what_is_written_out_is_read_back_the_same_from_json_and_yaml() -> None:
    rules = read(SITE, "site.yaml")

    assert read(dump(rules).decode(), "json") == rules
    assert read(yaml.safe_dump(to_document(rules)), "yaml") == rules
    assert json.loads(dump(rules))["nodes"][0]["class"] == "h100"


def test_all_faults_come_in_one_message_though_they_stand_in_different_rows_and_are_of_different_sorts() -> (
    None
):
    text = SITE.replace("20000", ".nan").replace(
        "parent: ups, rating_w: 12000}", "parent: usp, rating_w: 12000}", 1
    )
    text = text.replace("boot_guard: true", "boot_gard: true").replace("version: 3", "version: true")
    text = text.replace("flex_tier: 50", "flex_tier: 51").replace("mode: enforce", "mode: on")

    faults = faults_of(text)

    for expected in (
        "tree.version is True",
        "domains[ups].rating_w is nan",
        "domains[a] hangs below 'usp', which is no domain",
        "nodes[n1].boot_gard is not a key here",
        "priorities.batch.flex_tier is 51",
        "modes[0].mode is True, not one of observe, shadow, pilot, enforce",
    ):
        assert any(fault.startswith(expected) for fault in faults), (expected, faults)
    assert len(faults) == 6


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        ("domains/0/rating_w", True, "domains[ups].rating_w is True where a number is expected"),
        ("domains/0/rating_w", "20000", "domains[ups].rating_w is '20000' where a number is expected"),
        ("domains/0/rating_w", float("inf"), "domains[ups].rating_w is inf"),
        ("domains/0/rating_w", -5, "domains[ups].rating_w is -5, not above 0"),
        ("domains/0/ratings_w", 5, "domains[ups].ratings_w is not a key here"),
        ("domains/0/id", "u.p.s", "domains[u.p.s].id 'u.p.s' cannot stand in a subject"),
        ("domains/1/id", "b", "domains[b] stands 2 times"),
        ("domains/0/parent", "rack", "hangs below itself"),
        ("domains/0/target_w", 21000, "domains[ups] aims at 21000 W, above its hard limit of 20000 W"),
        ("domains/0/contingencies/0/hard_limit_w", 30000, "above the hard limit of 20000 W"),
        ("domains/0/curve/1/time_s", 90, "must hold more for a shorter time"),
        ("domains/3/parent", "ups", "has a parent and feeds"),
        ("nodes/0/domain", "rak", "nodes[n1].domain names 'rak', which is no domain"),
        ("nodes/0/class", "b200", "nodes[n1].class names 'b200', which is no class"),
        ("nodes/0/fallback_w_per_gpu", None, "nodes[n1].fallback_w_per_gpu is empty"),
        ("nodes", [5], "nodes[0] is 5 where a map is expected"),
        ("nodes", 5, "nodes is 5 where a list is expected"),
        ("classes", ["h100"], "classes is ['h100'] where a map is expected"),
        ("modes/0/selector/colour", ["red"], "modes[0].selector.colour is not one of"),
        ("pacing", {"step_share": 0.3}, "pacing.step_share is 0.3, outside 0..0.2"),
        ("leases", {"second_stage_s": 20.0}, "leases.second_stage_s must be longer than every lease"),
        ("tree/owner", "me", "tree.owner is not a key here"),
        ("surprise", 1, "surprise is not a key here"),
        (
            "domains/0/hard_limit_w",
            20001,
            "domains[ups].hard_limit_w is 20001 W, above its rating of 20000 W",
        ),
        ("domains/0/target_w", 20001, "domains[ups].target_w is 20001 W, above its rating of 20000 W"),
        ("domains/0/pf", 1.2, "domains[ups].pf is 1.2, outside 0..1"),
        ("domains/0/phases", 4, "domains[ups].phases is 4, outside 1..3"),
        ("domains/1/meters", ["m1"], "domains[rack].meters names 'm1', which a has already"),
        ("nodes/0/fallback_w_per_gpu", 150, "fallback_w_per_gpu is 150 W, below the 200 W of its class"),
        ("nodes/0/fallback_w_per_gpu", 701, "fallback_w_per_gpu is 701 W, above the 700 W of its class"),
        ("nodes", [], "nodes is empty: there is nothing to limit"),
        ("tree/version", 2**63, "tree.version is 9223372036854775808, beyond 9223372036854775807"),
        ("domains/0/rating_w", int("9" * 401), "domains[ups].rating_w is 9999"),
        ("domains/0/phases", -int("9" * 401), "domains[ups].phases is -999"),
        ("tree", {"id": "site"}, "tree.version is missing"),
    ],
)
def test_a_fault_is_named_with_its_place(path: str, value: Any, fault: str) -> None:
    assert any(fault in found for found in faults_of(changed(path, value)))


def test_a_number_too_long_to_print_is_a_fault_wherever_it_stands() -> None:
    huge = "0x1" + "0" * 5000

    faults = faults_of(SITE.replace("id: ups", f"id: {huge}").replace("20000", huge))

    assert any(fault.startswith("domains[0].id is too long to print, beyond") for fault in faults)
    assert any(fault.startswith("domains[0].rating_w is too long to print, beyond") for fault in faults)


@pytest.mark.parametrize(
    "text", ["", "[]", "a: [", "tree: 5", "&a [*a]", "{1: 2}", "!!python/object:os.system {}"]
)
def test_what_is_no_rules_document_is_refused(text: str) -> None:
    assert faults_of(text)


def test_a_key_that_stands_twice_is_refused() -> None:
    (fault,) = faults_of(SITE + "\ntree: {id: other, version: 4}\n")

    assert "'tree' stands twice" in fault


def test_the_refusal_names_its_source_and_claims_no_tree_in_force() -> None:
    with pytest.raises(BadTree, match=r"^site\.yaml was refused: the document is no map$"):
        read("", "site.yaml")


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=5), lambda inner: (
    st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["tree", "domains", "nodes", "classes", "modes", "id", "pacing"]), inner)
), max_leaves=12))  # fmt: skip
def test_nothing_but_a_bad_tree_is_raised(document: Any) -> None:
    with contextlib.suppress(BadTree):
        assert isinstance(read(json.dumps(document), "any"), Rules)
