"""A release that could never be granted is refused by the API with the watts that are missing."""

import copy
from typing import Any

import pytest
from inner_house import Inner
from site_rules import STATE


@pytest.fixture
def leader_state(api: Inner, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The leader's state, every board limited at 520 W and found with 700 W."""
    state = copy.deepcopy(STATE)
    for row in state["boards"]:
        row |= {"controlled": True, "counted_w": 520.0, "baseline_w": 700.0, "overshoot": 1.0}
    for row in state["domains"]:
        row |= {"room_w": 5000.0, "held": []}
    state["nodes"] = [{"node": name, "held": False} for name in ("n1", "n2")]

    async def told() -> Any:
        return type("Snapshot", (), {"document": state})

    monkeypatch.setattr(api.link, "state", told)
    return state


async def release(api: Inner) -> Any:
    return await api.ask("POST", "/release", "operator", json={"scope": {"node": ["n1"]}})


async def test_where_the_sums_allow_it_it_is_done(api: Inner, leader_state: dict[str, Any]) -> None:
    answer = await release(api)

    assert answer.status_code == 200, answer.text
    assert answer.json()["adoption"] == "adopted"


async def test_where_they_never_could_nothing_is_changed_and_the_watts_are_told(
    api: Inner, leader_state: dict[str, Any]
) -> None:
    leader_state["domains"][1]["room_w"] = -900.0
    before = (await api.ask("GET", "/tree", "operator")).json()["tree"]["version"]

    answer = await release(api)

    # n1 rises by 4 x 180 W x 1.2; n2 can give 4 x 270 W x 1.2.
    assert answer.status_code == 409
    assert answer.json()["type"].endswith("sums-forbid")
    assert answer.json()["missing_w"] == {"pdu": pytest.approx(900.0 + 864.0 - 1296.0)}
    assert (await api.ask("GET", "/tree", "operator")).json()["tree"]["version"] == before


async def test_under_a_hold_it_is_refused_by_the_holds_name(api: Inner, leader_state: dict[str, Any]) -> None:
    leader_state["domains"][0]["held"] = ["red"]

    answer = await release(api)

    assert answer.status_code == 409
    assert "red" in answer.json()["detail"]


async def test_just_after_a_start_when_nothing_is_counted_nothing_is_taken_for_allowed(
    api: Inner, leader_state: dict[str, Any]
) -> None:
    leader_state["domains"][0]["room_w"] = None
    before = (await api.ask("GET", "/tree", "operator")).json()["tree"]["version"]

    answer = await release(api)

    assert answer.status_code == 409
    assert answer.json()["type"].endswith("not-foretold")
    assert "feed is not counted yet: ask again" in answer.json()["detail"]
    assert (await api.ask("GET", "/tree", "operator")).json()["tree"]["version"] == before


@pytest.mark.parametrize("section", ["boards", "domains", "nodes"])
async def test_what_had_no_room_in_the_state_is_not_taken_for_nothing(
    api: Inner, leader_state: dict[str, Any], section: str
) -> None:
    leader_state["left_out"] = {section: 3}

    answer = await release(api)

    assert (answer.status_code, answer.json()["type"].rpartition(":")[2]) == (409, "not-foretold")
