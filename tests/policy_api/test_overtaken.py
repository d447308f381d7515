"""An edit of a store that lost its last second: nobody is told that it is in force where another document is."""

import asyncio
import dataclasses
import json
from typing import Any

import pytest
from inner_house import Inner
from site_rules import TREE, document

from easyrider.messages import Answer
from easyrider.tree import Rules
from easyrider.tree_reader import digest, dump, read_document
from easyrider_policy_api.core.adoption import judged, whole

MODE: dict[str, Any] = {"selector": {"node": ["n1"]}, "mode": "observe", "reason": "maintenance"}


def known(version: int, **other: Any) -> Rules:
    return dataclasses.replace(read_document(document(**other), "test"), version=version)


async def held(api: Inner) -> dict[str, Any]:
    found = await api.store.load_rules(TREE)
    assert found is not None
    told: dict[str, Any] = json.loads(found[1])
    return told


@pytest.mark.parametrize("lost", [2, 9])
async def test_a_hold_that_another_document_overtook_is_made_again_on_that_one(api: Inner, lost: int) -> None:
    """The store is at 1 and the leader at 2 or 9; of two documents with one version it keeps its own, one up."""
    api.leader.keeps = known(max(lost, 3), margin_w=50.0)

    answer = await api.ask("POST", "/holds", json={"id": "red"})

    rules = await held(api)
    assert (answer.status_code, answer.json()["adoption"]) == (201, "adopted")
    assert answer.json()["version"] == rules["tree"]["version"] == max(lost, 3) + 1
    assert ([hold["id"] for hold in rules["holds"]], rules["margin_w"]) == (["red"], 50.0)


async def test_an_edit_that_somebody_built_on_is_in_force_with_theirs(api: Inner) -> None:
    hold = {"id": "red", "domains": [], "reason": "", "by": "", "since": ""}
    api.leader.keeps = known(3, margin_w=50.0, holds=[hold])

    answer = await api.ask("POST", "/holds", json={"id": "red"})

    assert (answer.status_code, answer.json()["version"]) == (201, 3)
    assert len((await held(api))["holds"]) == 1


async def test_an_edit_of_a_named_version_that_was_overtaken_is_not_made_on_another(api: Inner) -> None:
    api.leader.keeps = known(3, margin_w=50.0)

    answer = await api.ask("PUT", "/modes", json=MODE, version=1)

    assert (answer.status_code, answer.json()["version"]) == (412, 3)
    assert (await held(api))["modes"] == document()["modes"]


async def test_a_coordinator_that_says_its_version_alone_proves_nothing(
    api: Inner, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = api.leader._say
    monkeypatch.setattr(api.leader, "_say", lambda ask, **told: said(ask, **told | {"body": b"{}"}))

    answer = await api.ask("POST", "/holds", json={})

    assert (answer.status_code, answer.json()["adoption"]) == (202, "pending")
    assert "does not say which document" in answer.json()["why"]


@pytest.mark.parametrize(
    ("ok", "reason", "version", "sha256", "verdict"),
    [
        (True, "", 8, digest(dump(known(8))), "adopted"),
        (True, "", 8, digest(dump(known(8, margin_w=1.0))), "overtaken"),
        (True, "", 9, digest(dump(known(9))), "overtaken"),
        (True, "", 7, digest(dump(known(7))), "pending"),
        (True, "", 8, "", "pending"),
        (False, "refused, version 7 stays in force: too much", 7, "", "refused"),
        (False, "the store could not be read", 8, "", "pending"),
    ],
)
def test_only_the_same_document_in_force_is_adopted(
    ok: bool, reason: str, version: int, sha256: str, verdict: str
) -> None:
    body = json.dumps({"sha256": sha256}).encode()
    answer = Answer(tree=TREE, region="r1", ok=ok, reason=reason, epoch=1, version=version, t_ns=0, body=body)

    assert judged(answer, known(8))[0] == verdict


def test_what_is_saved_is_written_as_a_coordinator_writes_it_again() -> None:
    rules = whole(known(4, margin_w=50))
    again = read_document(json.loads(dump(rules)), "the store")

    assert dump(again) == dump(rules)


async def test_holds_at_once_are_all_told_as_in_force(api: Inner) -> None:
    answers = await asyncio.gather(*(api.ask("POST", "/holds", json={"id": f"h{k}"}) for k in range(4)))

    assert [answer.json()["adoption"] for answer in answers] == ["adopted"] * 4
