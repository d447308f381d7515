"""An operator answers for a region that will not return: who may, what the coordinator is asked, what is kept."""

import json
from typing import Any

import pytest
from inner_house import Inner
from site_rules import REGION, TREE, document

from easyrider.messages import Answer, Ask
from easyrider.tree_reader import dump, read_document

REGIONS = [
    {"id": REGION},
    {"id": "hall", "parent": REGION, "domain": "pdu", "guaranteed_w": 4000.0},
]


@pytest.fixture
async def halls(api: Inner, monkeypatch: pytest.MonkeyPatch) -> Inner:
    """The site with a hall of its own, for which its leader lets an operator answer, and for nothing else."""
    grown = document(regions=REGIONS, tree={"id": TREE, "version": 2})
    await api.store.save_rules(TREE, 2, dump(read_document(grown, "test")))
    said = api.leader._say

    def say(ask: Ask, **words: Any) -> Answer:
        if ask.what != "free_region":
            return said(ask, **words)
        if ask.name != "hall":
            return said(ask, ok=False, reason="it was heard 2.0 s ago")
        return said(ask, body=json.dumps({"region": ask.name, "freed_w": 2350.0}).encode())

    monkeypatch.setattr(api.leader, "_say", say)
    return api


async def test_an_operator_frees_a_region_and_the_audit_holds_who_it_was(halls: Inner) -> None:
    answer = await halls.ask("POST", "/regions/hall/free", "operator")

    assert answer.status_code == 200, answer.text
    assert answer.json() == {"region": "hall", "freed": True, "freed_w": 2350.0}
    asked = [(ask.what, ask.name, ask.who) for ask in halls.leader.asked if ask.what == "free_region"]
    assert asked == [("free_region", "hall", "operator")]
    (record,) = (await halls.ask("GET", "/audit")).json()["records"]
    assert (record["result"], record["who"], json.loads(record["after"])) == (
        "done",
        "operator",
        {"region": "hall"},
    )


async def test_what_the_coordinator_refuses_is_told_in_its_words(halls: Inner) -> None:
    answer = await halls.ask("POST", f"/regions/{REGION}/free", "operator")

    assert answer.status_code == 409
    assert "heard 2.0 s ago" in answer.json()["detail"]
    (record,) = (await halls.ask("GET", "/audit")).json()["records"]
    assert record["result"] == "refused"


@pytest.mark.parametrize(("who", "status"), [(None, 401), ("wrong", 401), ("viewer", 403)])
async def test_nobody_but_an_operator_may(halls: Inner, who: str | None, status: int) -> None:
    assert (await halls.ask("POST", "/regions/hall/free", who)).status_code == status
    assert not [ask for ask in halls.leader.asked if ask.what == "free_region"]


async def test_a_region_that_the_rules_do_not_name_is_404(halls: Inner) -> None:
    assert (await halls.ask("POST", "/regions/nowhere/free", "operator")).status_code == 404
