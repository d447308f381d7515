"""Edits of the rules: under a version, checked, put before the coordinator, and told by what became of them."""

import asyncio
import json
from typing import Any

from inner_house import Inner
from site_rules import TREE, document

TARGET: dict[str, Any] = {
    "domain": "pdu",
    "begins": "2099-01-15T17:00:00+01:00",
    "ends": "2099-01-15T18:00:00+01:00",
    "target_w": 7000.0,
    "reason": "the grid asks",
}
MODE: dict[str, Any] = {"selector": {"node": ["n1"]}, "mode": "observe", "reason": "maintenance"}


async def rules(api: Inner) -> dict[str, Any]:
    found = await api.store.load_rules(TREE)
    assert found is not None
    told: dict[str, Any] = json.loads(found[1])
    assert told["tree"]["version"] == found[0]
    return told


async def test_a_mode_is_set_by_its_selector_and_taken_away_again(api: Inner) -> None:
    put = await api.ask("PUT", "/modes", "operator", json=MODE, version="held")
    assert put.status_code == 200
    assert put.json() == {"version": 2, "adoption": "adopted", "why": "", "remarks": []}
    assert put.headers["etag"] == '"2"'

    again = await api.ask("PUT", "/modes", "operator", json=MODE | {"mode": "shadow"}, version=2)
    read = await api.ask("GET", "/modes", "viewer")
    assert again.status_code == 200
    assert [(row["selector"], row["mode"]) for row in read.json()["modes"]] == [
        ({"rack": ["pdu"]}, "enforce"),
        ({"node": ["n1"]}, "shadow"),
    ]
    assert read.headers["etag"] == '"3"'

    gone = await api.ask("DELETE", "/modes?node=n1", "operator", version=3)
    assert gone.status_code == 200
    assert [row["mode"] for row in (await rules(api))["modes"]] == ["enforce"]


async def test_the_mode_of_everything_has_a_selector_without_keys(api: Inner) -> None:
    await api.ask("PUT", "/modes", json=MODE | {"selector": {}}, version="held")

    gone = await api.ask("DELETE", "/modes", version="held")

    assert gone.status_code == 200
    assert len((await rules(api))["modes"]) == 1


async def test_a_load_target_is_added_listed_and_taken_away(api: Inner) -> None:
    made = await api.ask("POST", "/targets", "operator", json=TARGET)
    assert made.status_code == 201

    listed = (await api.ask("GET", "/targets", "viewer")).json()["targets"]
    assert listed == [TARGET | {"id": made.json()["id"], "by": "operator"}]

    assert (await api.ask("DELETE", f"/targets/{made.json()['id']}", "operator")).status_code == 200
    assert (await api.ask("GET", "/targets", "viewer")).json()["targets"] == []


async def test_the_red_button_needs_no_version_and_says_who_pressed_it(api: Inner) -> None:
    made = await api.ask("POST", "/holds", "operator", json={"reason": "smoke"})
    assert made.status_code == 201

    (hold,) = (await api.ask("GET", "/holds", "viewer")).json()["holds"]
    assert (hold["id"], hold["domains"], hold["reason"], hold["by"]) == (
        made.json()["id"],
        [],
        "smoke",
        "operator",
    )
    assert hold["since"]

    assert (await api.ask("DELETE", f"/holds/{hold['id']}", "operator")).status_code == 200
    assert (await rules(api))["holds"] == []


async def test_an_id_that_is_taken_is_a_conflict(api: Inner) -> None:
    for path, body in (("/holds", {"id": "a"}), ("/targets", TARGET | {"id": "a"})):
        assert (await api.ask("POST", path, json=body)).status_code == 201

        answer = await api.ask("POST", path, json=body)

        assert answer.status_code == 409
        assert "already" in answer.json()["detail"]


async def test_release_puts_a_scope_in_observe_whatever_names_it_more_exactly(api: Inner) -> None:
    await api.ask("PUT", "/modes", json={"selector": {"job": ["job-a"]}, "mode": "enforce"}, version="held")

    answer = await api.ask(
        "POST", "/release", "operator", json={"scope": {"rack": ["pdu"]}, "reason": "fire drill"}
    )

    assert answer.status_code == 200
    modes = {json.dumps(row["selector"], sort_keys=True): row for row in (await rules(api))["modes"]}
    assert modes['{"rack": ["pdu"]}']["mode"] == "observe"
    assert modes['{"job": ["job-a"], "rack": ["pdu"]}']["mode"] == "observe"
    assert modes['{"job": ["job-a"]}']["mode"] == "enforce"  # elsewhere
    assert modes['{"rack": ["pdu"]}']["reason"] == "fire drill"


async def test_the_whole_tree_is_replaced_under_its_version(api: Inner) -> None:
    read = await api.ask("GET", "/tree", "viewer")
    changed = read.json() | {"margin_w": 100.0}

    put = await api.ask("PUT", "/tree", json=changed, headers={"If-Match": read.headers["etag"]})

    assert put.status_code == 200
    assert (await rules(api))["margin_w"] == 100.0
    assert api.leader.version == 2


async def test_a_document_of_another_version_than_the_one_it_is_to_replace_is_stale(api: Inner) -> None:
    answer = await api.ask("PUT", "/tree", json=document(tree={"id": TREE, "version": 5}), version=1)

    assert answer.status_code == 412


async def test_a_stale_document_is_told_the_version_that_is_held_and_not_the_one_it_named(api: Inner) -> None:
    for _ in range(2):
        await api.ask("POST", "/holds", json={})

    answer = await api.ask("PUT", "/tree", json=document(tree={"id": TREE, "version": 10}), version=1)

    assert answer.status_code == 412
    assert answer.json()["version"] == 3
    assert "began with version 1 of the rules, and version 3 is held" in answer.json()["detail"]


async def test_the_first_rules_of_all_are_put_where_none_are(api: Inner) -> None:
    api.store._rules.clear()
    assert (await api.ask("GET", "/tree")).status_code == 404
    assert (await api.ask("PUT", "/tree", json=document(), version=1)).status_code == 404

    first = await api.ask("PUT", "/tree", json=document(), headers={"If-None-Match": "*"})
    again = await api.ask("PUT", "/tree", json=document(), headers={"If-None-Match": "*"})

    assert first.status_code == 201
    assert again.status_code == 412


async def test_what_changes_nothing_makes_no_version(api: Inner) -> None:
    answer = await api.ask("PUT", "/tree", json=(await api.ask("GET", "/tree")).json(), version=1)

    assert answer.json()["adoption"] == "unchanged"
    assert await api.held() == 1


async def test_of_two_edits_at_once_one_wins_and_the_other_is_told(api: Inner) -> None:
    bodies = [MODE | {"selector": {"queue": [f"queue-{k}"]}} for k in range(8)]

    answers = await asyncio.gather(*(api.ask("PUT", "/modes", json=body, version=1) for body in bodies))

    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [200, *[412] * 7]
    lost = next(answer for answer in answers if answer.status_code == 412)
    assert lost.json()["version"] == 2
    assert await api.held() == 2


async def test_an_edit_of_what_somebody_else_edited_meanwhile_is_refused_with_the_version_held(
    api: Inner,
) -> None:
    for method, path, words in (
        ("PUT", "/modes", {"json": MODE}),
        ("DELETE", "/modes?rack=pdu", {}),
        ("PUT", "/tree", {"json": document()}),
        ("POST", "/holds", {"json": {}}),
        ("POST", "/targets", {"json": TARGET}),
        ("POST", "/release", {"json": {"scope": {}}}),
    ):
        await api.ask("POST", "/holds", json={})
        held = await api.held()

        answer = await api.ask(method, path, version=1, **words)

        assert answer.status_code == 412, (method, path)
        assert answer.json()["version"] == held
        assert await api.held() == held


async def test_red_buttons_pressed_at_once_all_count(api: Inner) -> None:
    answers = await asyncio.gather(*(api.ask("POST", "/holds", json={"id": f"h{k}"}) for k in range(4)))

    assert [answer.status_code for answer in answers] == [201] * 4
    assert len((await rules(api))["holds"]) == 4


async def test_without_a_coordinator_an_edit_is_saved_and_said_to_be_pending(api: Inner) -> None:
    async def silent(_ask: Any) -> None:
        return None

    api.leader.answer = silent  # type: ignore[method-assign, assignment]
    api.bus.exchange.listeners.clear()

    answer = await api.ask("POST", "/holds", json={"reason": "smoke"})

    assert answer.status_code == 202
    assert answer.json()["adoption"] == "pending"
    assert "No coordinator answers" in answer.json()["why"]
    assert len((await rules(api))["holds"]) == 1


async def test_what_the_coordinator_refuses_is_taken_back_and_its_reason_told(api: Inner) -> None:
    api.leader.refuses = "pdu: fallbacks and fixed loads come to 9999 W with the boards heard."

    answer = await api.ask("PUT", "/modes", json=MODE, version=1)

    assert answer.status_code == 409
    assert "9999 W" in answer.json()["detail"]
    assert [row["mode"] for row in (await rules(api))["modes"]] == ["enforce"]
    assert await api.held() == 3  # newer than what was refused, and the same as before it


async def test_nothing_is_edited_on_a_store_that_is_silent(api: Inner) -> None:
    await api.ask("GET", "/tree", "operator")
    api.store.full = "in this test"

    answer = await api.ask("POST", "/holds", "operator", json={})

    assert answer.status_code == 503
    assert "nothing was changed" in answer.json()["detail"]


async def test_live_answers_without_a_coordinator_are_503_in_one_sentence(api: Inner) -> None:
    api.bus.exchange.listeners.clear()

    for path in ("/state", "/jobs", "/jobs/job-a", "/plan"):
        answer = await api.ask("GET", path, "viewer")

        assert answer.status_code == 503, path
        assert "limits in force stay" in answer.json()["detail"]
        assert "retry-after" in answer.headers


async def test_however_many_look_the_coordinator_is_asked_once(api: Inner) -> None:
    await asyncio.gather(*(api.ask("GET", "/state", "viewer") for _ in range(20)))
    await asyncio.gather(*(api.ask("GET", "/state", "viewer") for _ in range(20)))

    assert len([ask for ask in api.leader.asked if ask.what == "state"]) == 1

    api.mono_s += 1.0
    await api.ask("GET", "/state", "viewer")
    assert len([ask for ask in api.leader.asked if ask.what == "state"]) == 2


async def test_boards_are_told_of_one_node_alone_if_that_is_asked(api: Inner) -> None:
    one = await api.ask("GET", "/state?node=n1", "viewer")
    none = await api.ask("GET", "/state?node=nobody", "viewer")

    assert {board["node"] for board in one.json()["boards"]} == {"n1"}
    assert none.status_code == 404


async def test_a_node_is_freed_by_whoever_may_and_the_coordinator_has_the_last_word(api: Inner) -> None:
    freed = await api.ask("POST", "/nodes/n1/free", "operator")
    refused = await api.ask("POST", "/nodes/n2/free", "operator")

    assert freed.status_code == 200
    assert refused.status_code == 409
    assert "nothing is booked" in refused.json()["detail"]
    assert [(ask.what, ask.name, ask.who) for ask in api.leader.asked if ask.what == "free"] == [
        ("free", "n1", "operator"),
        ("free", "n2", "operator"),
    ]
