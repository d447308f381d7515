"""Holds and load targets are refused by name where they say nothing that could be kept."""

from typing import Any

import pytest
import yaml

from easyrider.errors import BadTree
from easyrider.moments import BadMoment, rfc_3339, unix_s
from easyrider.tree_reader import dump, read

SITE = """
tree: {id: site, version: 3}
domains:
  - {id: ups, kind: ups, rating_w: 20000}
  - {id: rack, kind: rack, parent: ups, rating_w: 18000}
classes:
  h100: {overhead_w: 1600, overhead_slope: 1.23, gpu_min_w: 200, gpu_max_w: 700}
nodes:
  - {id: n1, domain: rack, class: h100, fallback_w_per_gpu: 300}
holds:
  - {id: red, domains: [rack], reason: a smell of burning, since: 2026-12-01T18:00:00Z, by: ann}
targets:
  - {id: evening, domain: ups, begins: 2026-12-01T18:00:00+01:00, ends: "2026-12-01T20:00:00+01:00", target_w: 9000}
"""


def faults_of(section: str, **values: Any) -> list[str]:
    document = yaml.safe_load(SITE.replace("2026-12-01T18:00:00Z", '"2026-12-01T18:00:00Z"'))
    document["targets"][0]["begins"] = "2026-12-01T18:00:00+01:00"
    document[section][0] |= values
    with pytest.raises(BadTree) as caught:
        read(yaml.safe_dump(document, sort_keys=False), "site.yaml")
    return caught.value.faults


def test_holds_and_targets_are_read_with_moments_quoted_or_not_and_written_out_the_same() -> None:
    rules = read(SITE, "site.yaml")

    assert rules.holds[0].since == "2026-12-01T18:00:00Z"
    assert unix_s(rules.targets[0].ends) - unix_s(rules.targets[0].begins) == 7200
    assert read(dump(rules).decode(), "again") == rules


@pytest.mark.parametrize(
    ("section", "values", "fault"),
    [
        ("holds", {"domains": ["attic"]}, "holds[red].domains names 'attic', which is no domain"),
        ("holds", {"since": "yesterday"}, "holds[red].since is 'yesterday', not a moment"),
        ("holds", {"id": "a b"}, "holds[a b].id 'a b' cannot stand in a subject"),
        ("targets", {"domain": "attic"}, "targets[evening].domain names 'attic', which is no domain"),
        (
            "targets",
            {"begins": "2026-12-01T18:00:00"},
            "targets[evening].begins is '2026-12-01T18:00:00', not a",
        ),
        (
            "targets",
            {"ends": "2026-13-01T18:00:00Z"},
            "targets[evening].ends is '2026-13-01T18:00:00Z', not a",
        ),
        ("targets", {"ends": "2026-12-01T18:00:00+01:00"}, "targets[evening] ends at"),
        ("targets", {"target_w": 0}, "targets[evening].target_w is 0, not above 0"),
        ("targets", {"target_w": float("nan")}, "targets[evening].target_w is nan, not a finite number"),
    ],
)
def test_a_fault_is_named_with_its_place(section: str, values: dict[str, Any], fault: str) -> None:
    assert any(found.startswith(fault) for found in faults_of(section, **values))


def test_an_id_that_stands_twice_is_refused() -> None:
    document = yaml.safe_load(SITE.replace("2026-12-01T18:00:00Z", '"2026-12-01T18:00:00Z"'))
    document["holds"] *= 2
    with pytest.raises(BadTree, match=r"holds\[red\] stands 2 times"):
        read(yaml.safe_dump({**document, "targets": []}, sort_keys=False), "site.yaml")


@pytest.mark.parametrize(
    "text", ["", "2026-12-01", "20261201T180000Z", "2026-12-01T25:00:00Z", "2026-12-01T18:00Z"]
)
def test_what_names_no_moment_is_no_moment(text: str) -> None:
    with pytest.raises(BadMoment):
        unix_s(text)


def test_a_moment_is_told_as_it_is_read() -> None:
    assert rfc_3339(unix_s("2026-12-01T19:00:00+01:00")) == "2026-12-01T18:00:00Z"
