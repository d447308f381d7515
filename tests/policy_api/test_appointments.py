"""Load targets that are mistyped years: one that has ended is not taken, one far ahead is asked about."""

from typing import Any

import pytest
from inner_house import Inner
from site_rules import document

from easyrider.moments import rfc_3339

YEAR_S = 366 * 86400.0


def target(api: Inner, begins_s: float, lasts_s: float = 3600.0) -> dict[str, Any]:
    return {
        "id": "grid",
        "domain": "pdu",
        "begins": rfc_3339(api.unix_s + begins_s),
        "ends": rfc_3339(api.unix_s + begins_s + lasts_s),
        "target_w": 7000.0,
    }


@pytest.mark.parametrize("begins_s", [-3601.0, -YEAR_S])
async def test_a_new_target_that_has_ended_is_refused_by_its_field(api: Inner, begins_s: float) -> None:
    asked = target(api, begins_s)

    refused = await api.ask("POST", "/targets", "operator", json=asked)

    assert refused.status_code == 422
    (fault,) = refused.json()["fields"]
    assert fault["field"] == "targets[grid].ends"
    assert fault["fault"] == f"is {asked['ends']}, which is past"
    assert (await api.store.load_rules("site"))[0] == 1  # type: ignore[index]


async def test_year_1_is_past_and_year_9999_is_asked_about(api: Inner) -> None:
    first = {"begins": "0001-01-02T00:00:00Z", "ends": "0001-01-03T00:00:00Z"}
    last = {"begins": "9999-01-02T00:00:00Z", "ends": "9999-01-03T00:00:00Z"}

    refused = await api.ask("POST", "/targets", "operator", json=target(api, 60.0) | first)
    taken = await api.ask("POST", "/targets", "operator", json=target(api, 60.0) | last)

    assert (refused.status_code, taken.status_code) == (422, 201)
    assert taken.json()["remarks"] == [
        "targets[grid] begins at 9999-01-02T00:00:00Z, in more than a year: is that meant?"
    ]


@pytest.mark.parametrize("begins_s", [-600.0, 60.0, YEAR_S - 60.0])
async def test_one_that_runs_or_begins_within_a_year_is_taken_without_a_word(
    api: Inner, begins_s: float
) -> None:
    taken = await api.ask("POST", "/targets", "operator", json=target(api, begins_s))

    assert taken.status_code == 201
    assert taken.json()["remarks"] == []


async def test_one_that_ended_in_the_rules_hinders_no_other_edit(api: Inner) -> None:
    await api.ask("POST", "/targets", "operator", json=target(api, -600.0, lasts_s=700.0))
    api.unix_s += 300.0

    hold = await api.ask("POST", "/holds", "operator", json={"reason": "smoke"})
    held = (await api.ask("GET", "/tree", "viewer")).json()
    whole = await api.ask("PUT", "/tree", "admin", json=held | {"margin_w": 100.0}, version="held")

    assert hold.status_code == 201
    assert whole.status_code == 200


async def test_a_whole_tree_brings_in_no_ended_target_either(api: Inner) -> None:
    brought = document() | {"targets": [target(api, -7200.0)]}

    refused = await api.ask("PUT", "/tree", "admin", json=brought, version="held")

    assert refused.status_code == 422
    assert refused.json()["fields"][0]["field"] == "targets[grid].ends"
