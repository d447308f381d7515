"""A selector that names a node, a domain or a class by its whole name means one that the rules know."""

from typing import Any

import pytest
from inner_house import Inner

UNNAMED = [("node", "nope"), ("rack", "pdu-9"), ("class", "h900")]


@pytest.mark.parametrize(("key", "name"), UNNAMED)
async def test_a_release_of_what_the_rules_do_not_name_is_refused_and_changes_nothing(
    api: Inner, key: str, name: str
) -> None:
    answer = await api.ask("POST", "/release", "operator", json={"scope": {key: [name]}})

    assert answer.status_code == 422, answer.text
    [fault] = answer.json()["fields"]
    assert fault["field"] == f"scope.{key}"
    assert name in fault["fault"]
    assert await api.held() == 1


@pytest.mark.parametrize(("key", "name"), UNNAMED)
async def test_a_mode_for_what_the_rules_do_not_name_is_refused_by_name(
    api: Inner, key: str, name: str
) -> None:
    answer = await api.ask(
        "PUT", "/modes", "operator", json={"selector": {key: [name]}, "mode": "shadow"}, version="held"
    )

    assert answer.status_code == 422, answer.text
    assert answer.json()["fields"][0]["field"] == f"selector.{key}"
    assert await api.held() == 1


async def test_one_name_that_is_known_does_not_let_another_in(api: Inner) -> None:
    scope = {"rack": ["pdu"], "node": ["n1", "nope", "never"]}

    answer = await api.ask("POST", "/release", "operator", json={"scope": scope})

    assert answer.status_code == 422
    assert "nope, never" in answer.json()["fields"][0]["fault"]


@pytest.mark.parametrize(
    "selector", [{"node": ["nope*"]}, {"job": ["later"]}, {"queue": ["batch"]}, {"tenant": ["t"]}]
)
async def test_patterns_jobs_queues_and_tenants_may_name_what_comes_later(
    api: Inner, selector: dict[str, Any]
) -> None:
    answer = await api.ask(
        "PUT", "/modes", "operator", json={"selector": selector, "mode": "shadow"}, version="held"
    )

    assert answer.status_code == 200, answer.text


async def test_a_mode_that_outlived_its_node_can_be_taken_away(api: Inner) -> None:
    document = (await api.ask("GET", "/tree")).json()
    document["modes"].append({"selector": {"node": ["gone"]}, "mode": "shadow", "reason": "", "since": ""})
    assert (await api.ask("PUT", "/tree", json=document, version=1)).status_code == 200

    answer = await api.ask("DELETE", "/modes?node=gone", "operator", version=2)

    assert answer.status_code == 200, answer.text
