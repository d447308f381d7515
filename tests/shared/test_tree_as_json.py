"""A rules document in JSON is read as JSON, which YAML is not quite."""

import json
from typing import Any

import pytest

from easyrider.errors import BadTree
from easyrider.tree_reader import dump, read, read_document

DOCUMENT: dict[str, Any] = {
    "tree": {"id": "site", "version": 3},
    "domains": [{"id": "feed", "kind": "feed", "rating_w": 1e9}],
    "classes": {"c": {"overhead_w": 10, "overhead_slope": 1.2}},
    "nodes": [{"id": "n1", "domain": "feed", "class": "c", "fallback_w_per_gpu": 250}],
}


def test_a_number_with_an_exponent_is_a_number() -> None:
    text = json.dumps(DOCUMENT).replace("1000000000.0", "1e9")

    assert read(text, "test").domains[0].rating_w == 1e9


def test_any_reason_comes_back_as_it_was_given() -> None:
    hold = {"id": "h", "reason": "Wartung 😀 \u2028 \\/"}

    rules = read_document(DOCUMENT | {"holds": [hold]}, "test")

    assert rules.holds[0].reason == hold["reason"]
    assert read(dump(rules).decode(), "test") == rules


@pytest.mark.parametrize("text", ['{"tree": {"id": "a", "id": "b"}}', "tree: {id: a, id: b}"])
def test_a_key_that_stands_twice_is_named_in_either_form(text: str) -> None:
    with pytest.raises(BadTree, match="'id' stands twice"):
        read(text, "test")


def test_yaml_that_looks_like_json_is_read_as_yaml() -> None:
    rules = read(json.dumps(DOCUMENT).replace('"tree"', "tree"), "test")

    assert rules.version == 3


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e400", "1" * 5000])
def test_a_number_that_is_none_is_refused(number: str) -> None:
    with pytest.raises(BadTree):
        read(json.dumps(DOCUMENT).replace("1000000000.0", number), "test")
