"""How far each scope has come, and modes whose gate is passed over, over the API."""

from inner_house import Inner
from site_rules import ADVICE


async def test_every_scope_is_told_with_what_it_has_shown_and_what_is_missing(api: Inner) -> None:
    told = (await api.ask("GET", "/trust", "viewer")).json()

    age_s = told.pop("age_s")
    assert age_s >= 0.0
    assert told == ADVICE["trust"]
    assert told["scopes"][0]["stages"]["shadow"]["happened_slowdown"] is None


async def test_why_a_gate_is_passed_over_is_saved_with_the_mode_and_goes_with_the_next(api: Inner) -> None:
    body = {"selector": {"rack": ["pdu"]}, "mode": "pilot"}

    await api.ask("PUT", "/modes", json=body | {"override": "a test hall"}, version="held")
    first = (await api.ask("GET", "/modes", "viewer")).json()["modes"]
    await api.ask("PUT", "/modes", json=body, version="held")
    then = (await api.ask("GET", "/modes", "viewer")).json()["modes"]

    assert [row.get("override", "") for row in first if row["selector"] == {"rack": ["pdu"]}] == [
        "a test hall"
    ]
    assert [row.get("override", "") for row in then if row["selector"] == {"rack": ["pdu"]}] == [""]


async def test_what_may_not_rise_yet_is_told_with_the_numbers_and_taken_back(api: Inner) -> None:
    why = "modes: rack=pdu may not rise from shadow to pilot yet: shadow days 3.00 of 7"
    api.leader.refuses = why

    answer = await api.ask(
        "PUT", "/modes", json={"selector": {"rack": ["pdu"]}, "mode": "pilot"}, version="held"
    )

    assert answer.status_code == 409
    assert why in answer.json()["detail"]
