"""Nobody asks too often, guesses, or sends too much or too slowly; everybody else is served."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from inner_house import PROXY, Inner

from easyrider_policy_api.core.buckets import MOST_NAMES, Buckets
from easyrider_policy_api.core.peers import networks, real_peer


async def test_two_hundred_bad_logins_end_in_429_and_a_good_token_still_opens(api: Inner) -> None:
    assert (await api.ask("GET", "/tree", "operator")).status_code == 200

    statuses = [(await api.ask("GET", "/tree", "wrong")).status_code for _ in range(200)]

    assert statuses[:10] == [401] * 10
    assert set(statuses[10:]) == {429}
    assert (await api.ask("GET", "/tree", "operator")).status_code == 200
    assert (
        await api.ask("GET", "/tree", "viewer")
    ).status_code == 429  # unknown here, from the guessing address
    other = await api.from_peer("192.0.2.7").get(
        "/v1/tree", headers={"Authorization": f"Bearer {api.shown['viewer']}"}
    )
    assert other.status_code == 200

    api.mono_s += 61.0
    assert (await api.ask("GET", "/tree", "wrong")).status_code == 401


async def test_a_forwarded_address_is_believed_of_listed_proxies_alone(api: Inner) -> None:
    forged = {"X-Forwarded-For": "198.51.100.1", "Authorization": f"Bearer {api.shown['operator']}"}

    for peer, told in (("203.0.113.5", "203.0.113.5"), (PROXY, "198.51.100.1")):
        await api.from_peer(peer).post("/v1/holds", json={}, headers=forged)

        assert api.results()[-1]["peer"] == told


@pytest.mark.parametrize(
    ("connected", "forwarded", "peer"),
    [
        ("203.0.113.5", ["10.0.0.1"], "203.0.113.5"),
        ("10.9.9.9", [], "10.9.9.9"),
        ("10.9.9.9", ["198.51.100.1"], "198.51.100.1"),
        ("10.9.9.9", ["1.1.1.1, 198.51.100.1"], "198.51.100.1"),  # what stands left anybody may have written
        ("10.9.9.9", ["1.1.1.1", "198.51.100.1"], "198.51.100.1"),
        ("10.9.9.9", ["198.51.100.1, 10.9.9.8"], "198.51.100.1"),
        ("10.9.9.9", ["nonsense"], "10.9.9.9"),
        ("10.9.9.9", ["198.51.100.1, nonsense"], "10.9.9.9"),
        ("10.9.9.9", ["2001:db8::1"], "2001:db8::1"),
        ("unknown", ["1.1.1.1"], "unknown"),
    ],
)
def test_the_real_peer_is_the_last_that_somebody_we_believe_has_seen(
    connected: str, forwarded: list[str], peer: str
) -> None:
    assert real_peer(connected, forwarded, networks(["10.9.9.0/24"])) == peer


async def test_a_token_that_asks_too_often_waits_and_others_do_not(api: Inner) -> None:
    api.gatekeeper._asked = Buckets(2.0, 4.0)

    statuses = [(await api.ask("GET", "/tree", "viewer")).status_code for _ in range(6)]
    last = await api.ask("GET", "/tree", "viewer")

    assert statuses == [200] * 4 + [429] * 2
    assert int(last.headers["retry-after"]) >= 1
    assert (await api.ask("GET", "/tree", "operator")).status_code == 200
    api.mono_s += 1.0
    assert (await api.ask("GET", "/tree", "viewer")).status_code == 200


async def test_an_address_that_asks_too_often_waits_and_others_do_not(api: Inner) -> None:
    api.app._asked = Buckets(1.0, 3.0)

    statuses = [(await api.ask("GET", "/health", None)).status_code for _ in range(5)]

    assert statuses == [200] * 3 + [429] * 2
    assert (await api.from_peer("192.0.2.7").get("/v1/health")).status_code == 200


async def test_refusals_of_one_address_fill_no_disk(api: Inner) -> None:
    api.app._asked = Buckets(0.001, 1.0)

    for _ in range(50):
        await api.ask("POST", "/holds", json={})

    assert [line["status"] for line in api.results()] == [201, 429]


async def test_who_shows_no_token_fills_no_disk_either(api: Inner) -> None:
    for _ in range(100):
        await api.ask("POST", "/holds", None, json={})

    assert [line["status"] for line in api.results()] == [401] * 20
    await api.ask("POST", "/holds", "operator", json={})
    assert api.results()[-1]["status"] == 201


async def test_a_body_that_says_it_is_too_large_is_not_read(api: Inner) -> None:
    answer = await api.ask(
        "POST", "/holds", content=b"x" * 100_001, headers={"Content-Type": "application/json"}
    )

    assert answer.status_code == 413
    assert api.results()[-1]["status"] == 413


async def test_a_body_that_does_not_say_how_large_it_is_is_read_up_to_the_limit(api: Inner) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 50_000_000:
            sent += 10_000
            yield b"x" * 10_000

    answer = await api.ask("POST", "/holds", content=endless(), headers={"Content-Type": "application/json"})

    assert answer.status_code == 413
    assert sent <= 200_000


async def test_a_body_that_trickles_is_given_up_and_others_are_served(api: Inner) -> None:
    async def trickle() -> AsyncIterator[bytes]:
        while True:
            yield b" "
            await asyncio.sleep(0.05)

    slow = asyncio.ensure_future(
        api.ask("POST", "/holds", content=trickle(), headers={"Content-Type": "application/json"})
    )
    await asyncio.sleep(0)
    other = await api.ask("GET", "/tree", "viewer")
    answer: httpx.Response = await slow

    assert other.status_code == 200
    assert answer.status_code == 408
    assert await api.held() == 1


def test_buckets_forget_who_was_not_seen_for_longest() -> None:
    buckets = Buckets(0.001, 1.0)
    for k in range(MOST_NAMES + 10):
        assert buckets.take(f"peer {k}", 0.0) is None

    assert len(buckets._buckets) == MOST_NAMES
    assert buckets.take(f"peer {MOST_NAMES + 9}", 0.0) is not None


def test_a_clock_that_steps_back_gives_nothing_away() -> None:
    buckets = Buckets(1.0, 1.0)
    assert buckets.take("a", 100.0) is None

    assert buckets.take("a", 50.0) is not None
    assert buckets.take("a", 100.5) is not None
    assert buckets.take("a", 101.0) is None
