"""The description is what the code says, and says enough to be used without asking."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest
from site_rules import TREE

from easyrider.tree import Rules
from easyrider.tree_reader import read_document, to_document
from easyrider_policy_api.app import build
from easyrider_policy_api.describe import document
from easyrider_policy_api.routes.tree_schema import COMPONENTS, EXAMPLE

ROOT = Path(__file__).parents[2]
OPENAPI: dict[str, Any] = build(None).openapi()
OPERATIONS = [
    (path, method, told) for path, item in OPENAPI["paths"].items() for method, told in item.items()
]
NAMES = [f"{method} {path}" for path, method, _ in OPERATIONS]


def test_the_committed_description_is_that_of_the_code() -> None:
    assert (ROOT / "docs" / "openapi.json").read_text() == document(), "make docs"


@pytest.mark.parametrize(("path", "method", "told"), OPERATIONS, ids=NAMES)
def test_every_route_says_what_it_does_and_every_problem_it_may_have(
    path: str, method: str, told: Any
) -> None:
    assert told["description"]
    wanted = {"422", "429"} if path == "/v1/health" else {"401", "403", "422", "429", "503"}
    if method != "get" and not path.endswith(("dry-run", "/estimate")):
        wanted |= {"404", "408", "409", "413", "415"}
    assert wanted <= told["responses"].keys()
    for status, answer in told["responses"].items():
        if status.startswith(("4", "5")) and (path, status) != ("/v1/health", "503"):
            assert set(answer["content"]) == {"application/problem+json"}, status
    assert told["security"] == ([] if path == "/v1/health" else [{"token": []}])


def test_every_reference_leads_somewhere() -> None:
    text = json.dumps(OPENAPI)
    known = OPENAPI["components"]["schemas"].keys()

    assert set(re.findall(r"#/components/schemas/([^\"]+)", text)) <= known
    assert "#/$defs/" not in text


def test_the_example_of_rules_is_rules() -> None:
    rules = read_document(EXAMPLE, "the example")

    assert rules.id == TREE


def test_the_schema_of_rules_knows_every_key_of_the_document_and_no_other() -> None:
    whole = to_document(read_document(EXAMPLE, "the example"))

    schema = COMPONENTS["RulesDocument"]
    fields = {field.name for field in dataclasses.fields(Rules)} - {"id", "version"} | {"tree"}
    assert set(schema["properties"]) == fields >= whole.keys()
    assert "class" in COMPONENTS["Node"]["properties"]
    assert set(whole["nodes"][0]) <= set(COMPONENTS["Node"]["properties"])


@pytest.mark.parametrize(
    "name", ["ModeAsked", "TargetAsked", "HoldAsked", "ReleaseAsked", "TokenAsked", "EstimateAsked"]
)
def test_every_field_that_is_sent_has_an_example(name: str) -> None:
    schema = OPENAPI["components"]["schemas"][name]

    assert schema["additionalProperties"] is False
    assert [field for field, told in schema["properties"].items() if not told.get("examples")] == []
