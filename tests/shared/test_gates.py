"""The gates of a rules document: defaults that wait weeks, every fault named, and left out where nothing is said."""

import re
from dataclasses import asdict
from pathlib import Path

import pytest
import yaml

from easyrider.errors import BadTree
from easyrider.gates import Gates
from easyrider.tree_reader import dump, read, to_document

PAGE = (Path(__file__).parents[2] / "docs" / "trust.md").read_text()
DOCUMENT = {
    "tree": {"id": "site", "version": 1},
    "domains": [{"id": "feed", "kind": "feed", "rating_w": 40000.0}],
    "classes": {
        "box": {"overhead_w": 1600.0, "overhead_slope": 1.23, "gpu_min_w": 200.0, "gpu_max_w": 700.0}
    },
    "nodes": [{"id": "n1", "domain": "feed", "class": "box", "fallback_w_per_gpu": 300.0}],
}


def reading(**more):
    return read(yaml.safe_dump(DOCUMENT | more), "test")


def test_the_defaults_are_those_of_the_page():
    (block,) = re.findall(r"^```yaml\ngates:\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)

    assert yaml.safe_load(block) == asdict(Gates())


def test_a_document_that_says_nothing_of_gates_is_written_without_them():
    rules = reading(modes=[{"selector": {"node": ["*"]}, "mode": "shadow"}])

    assert "gates" not in to_document(rules)
    assert "override" not in to_document(rules)["modes"][0]


def test_gates_and_overrides_are_read_back_as_they_were_written():
    rules = reading(
        gates={"shadow_days": 2.0, "forecasts": True},
        modes=[{"selector": {"node": ["*"]}, "mode": "pilot", "override": "a test hall"}],
    )

    again = read(dump(rules).decode(), "again")

    assert again == rules
    assert again.gates == Gates(shadow_days=2.0, forecasts=True)
    assert again.modes[0].override == "a test hall"


def test_every_fault_of_the_gates_is_named():
    with pytest.raises(BadTree) as fault:
        reading(
            gates={
                "shadow_days": -1,
                "false_cap_ratio": 1.5,
                "beyond_s": 0,
                "trusted_ratio": "most",
                "weeks": 2,
            }
        )

    told = "; ".join(fault.value.faults)
    assert "gates.trusted_ratio is 'most' where a number is expected" in told
    assert "gates.weeks is not a key here" in told

    with pytest.raises(BadTree) as fault:
        reading(gates={"shadow_days": -1, "false_cap_ratio": 1.5, "beyond_s": 0})

    assert fault.value.faults == [
        "gates.shadow_days is -1, below 0",
        "gates.false_cap_ratio is 1.5, above 1",
        "gates.beyond_s is 0: every scope would be demoted at once",
    ]
