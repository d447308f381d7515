"""A request that is tried again with its idempotency key is done once."""

import asyncio
import json
from typing import Any

import pytest
from inner_house import Inner
from site_rules import TREE

from easyrider.store_port import StoreSilent

KEY = {"Idempotency-Key": "b7c1f2c0-6a0e-4a57-9b5e-2f4c3f9a7d11"}


async def holds(api: Inner) -> list[dict[str, Any]]:
    found = await api.store.load_rules(TREE)
    assert found is not None
    told: list[dict[str, Any]] = json.loads(found[1])["holds"]
    return told


async def test_a_lost_answer_is_given_again_and_nothing_is_done_twice(api: Inner) -> None:
    first = await api.ask("POST", "/holds", json={"reason": "smoke"}, headers=KEY)
    again = await api.ask("POST", "/holds", json={"reason": "smoke"}, headers=KEY)

    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert again.headers["etag"] == first.headers["etag"]
    assert again.headers["idempotency-replayed"] == "true"
    assert len(await holds(api)) == 1
    assert len((await api.ask("GET", "/audit")).json()["records"]) == 1


async def test_the_same_request_at_once_is_done_once(api: Inner) -> None:
    answers = await asyncio.gather(
        *(api.ask("POST", "/holds", json={"reason": "smoke"}, headers=KEY) for _ in range(6))
    )

    statuses = sorted(answer.status_code for answer in answers)
    assert statuses.count(201) >= 1
    assert set(statuses) <= {201, 409}
    assert len(await holds(api)) == 1


async def test_a_key_belongs_to_one_request_of_one_bearer(api: Inner) -> None:
    await api.ask("POST", "/holds", "admin", json={"reason": "smoke"}, headers=KEY)

    other = await api.ask("POST", "/holds", "admin", json={"reason": "fire"}, headers=KEY)
    another = await api.ask("POST", "/holds", "operator", json={"reason": "smoke"}, headers=KEY)

    assert other.status_code == 409
    assert another.status_code == 201
    assert len(await holds(api)) == 2


async def test_a_request_that_was_refused_may_be_tried_again_with_its_key(api: Inner) -> None:
    refused = await api.ask("POST", "/holds", json={"domains": ["nowhere"]}, headers=KEY)
    mended = await api.ask("POST", "/holds", json={"domains": ["pdu"]}, headers=KEY)

    assert (refused.status_code, mended.status_code) == (422, 201)


async def test_a_key_that_is_none_is_refused_with_the_field(api: Inner) -> None:
    for key in (b"", b"with blank", b"x" * 256, "ä".encode("latin-1")):
        answer = await api.ask("POST", "/holds", json={}, headers={"Idempotency-Key": key})

        assert answer.status_code == 422
        assert answer.json()["fields"][0]["field"] == "Idempotency-Key"


async def test_a_token_is_shown_once_and_never_by_a_receipt(api: Inner) -> None:
    body = {"name": "new", "role": "viewer"}

    first = await api.ask("POST", "/tokens", json=body, headers=KEY)
    again = await api.ask("POST", "/tokens", json=body, headers=KEY)

    assert first.json()["token"].startswith("er_")
    assert again.json() == first.json() | {"token": None}
    stored = b"".join(value for value, _ in (*api.store._receipts.values(), *api.store._tokens.values()))
    assert first.json()["token"].removeprefix("er_").encode() not in stored


@pytest.mark.parametrize("silent_at", ["begin", "load_rules"])
@pytest.mark.parametrize("longer", [False, True])
async def test_a_store_that_fell_silent_before_anything_was_meant_leaves_the_key_free(
    api: Inner, monkeypatch: pytest.MonkeyPatch, silent_at: str, longer: bool
) -> None:
    real = getattr(api.store, silent_at)

    async def too_late(*words: Any) -> None:
        await real(*words)
        api.store.silent = "gone" if longer else ""
        raise StoreSilent(silent_at, "no answer in 0.5 s")

    with monkeypatch.context() as broken:
        broken.setattr(api.store, silent_at, too_late)
        first = await api.ask("POST", "/holds", json={"reason": "smoke"}, headers=KEY)
    api.store.silent = ""
    again = await api.ask("POST", "/holds", json={"reason": "smoke"}, headers=KEY)

    assert (first.status_code, again.status_code) == (503, 201)
    assert len(await holds(api)) == 1


async def test_what_may_have_been_done_keeps_its_key(api: Inner, monkeypatch: pytest.MonkeyPatch) -> None:
    real = api.store.replace_rules

    async def too_late(*words: Any) -> None:
        await real(*words)
        raise StoreSilent("replace_rules", "no answer in 0.5 s")

    with monkeypatch.context() as broken:
        broken.setattr(api.store, "replace_rules", too_late)
        first = await api.ask("POST", "/holds", json={"reason": "smoke"}, headers=KEY)
    again = await api.ask("POST", "/holds", json={"reason": "smoke"}, headers=KEY)

    assert (first.status_code, again.status_code) == (503, 409)
    assert len(await holds(api)) == 1
