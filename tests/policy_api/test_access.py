"""Closed by default: every route against every kind of token, as the description lists them."""

from typing import Any

import pytest
from inner_house import Inner

from easyrider_policy_api.app import build

ROUTES = [
    (method.upper(), path)
    for path, item in build(None).openapi()["paths"].items()
    for method in item
    if path != "/v1/health"
]
LEAST = {
    ("GET", "/v1/audit"): "operator",
    ("GET", "/v1/tokens"): "admin",
    ("POST", "/v1/tokens"): "admin",
    ("DELETE", "/v1/tokens/{token_id}"): "admin",
    ("PUT", "/v1/tree"): "admin",
    ("POST", "/v1/estimate"): "viewer",
}
TENANTS = {
    ("GET", "/v1/jobs"),
    ("GET", "/v1/jobs/{job_id}"),
    ("GET", "/v1/accuracy"),
    ("GET", "/v1/accuracy/{job_id}"),
    ("GET", "/v1/explain/jobs/{job_id}"),
    ("GET", "/v1/explain/gpus/{uuid}"),
    ("POST", "/v1/estimate"),
}
RANKS = ["viewer", "operator", "admin"]


def least(route: tuple[str, str]) -> str:
    return LEAST.get(route, "viewer" if route[0] == "GET" else "operator")


async def ask(api: Inner, route: tuple[str, str], who: str | None) -> Any:
    method, path = route
    for name in ("target_id", "hold_id", "node", "job_id", "token_id", "uuid", "domain_id"):
        path = path.replace(f"{{{name}}}", "nobody")
    return await api.ask(method, path.removeprefix("/v1"), who)


@pytest.mark.parametrize("route", ROUTES, ids=" ".join)
async def test_without_a_token_that_opens_nothing_is_done(api: Inner, route: tuple[str, str]) -> None:
    for who in (None, "wrong", "expired", "revoked"):
        answer = await ask(api, route, who)

        assert answer.status_code == 401, who
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["www-authenticate"].startswith("Bearer")
    assert await api.held() == 1


@pytest.mark.parametrize("route", ROUTES, ids=" ".join)
async def test_a_role_may_do_what_is_its_own_and_nothing_above(api: Inner, route: tuple[str, str]) -> None:
    for who in RANKS:
        answer = await ask(api, route, who)

        allowed = RANKS.index(who) >= RANKS.index(least(route))
        assert (answer.status_code != 403) == allowed, (who, answer.text)
        assert answer.status_code not in (401, 500)


@pytest.mark.parametrize("route", ROUTES, ids=" ".join)
async def test_a_token_of_a_tenant_sees_jobs_and_nothing_else(api: Inner, route: tuple[str, str]) -> None:
    answer = await ask(api, route, "tenant")

    assert (answer.status_code != 403) == (route in TENANTS)


async def test_a_tenant_sees_its_own_jobs_alone(api: Inner) -> None:
    everyone = (await api.ask("GET", "/jobs", "viewer")).json()["jobs"]
    ours = (await api.ask("GET", "/jobs", "tenant")).json()["jobs"]

    assert {job["job"] for job in everyone} == {"job-a", "job-b"}
    assert {job["job"] for job in ours} == {"job-a"}
    assert (await api.ask("GET", "/jobs/job-a", "tenant")).status_code == 200
    assert (await api.ask("GET", "/jobs/job-b", "tenant")).status_code == 404
    assert (await api.ask("GET", "/jobs/job-b", "viewer")).status_code == 200


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Basic er_x",
        "bearer  x",
        "Bearer " + "x" * 5000,
        "Bearer er_" + "\u00e4" * 43,
    ],
)
async def test_what_is_no_token_at_all_opens_nothing(api: Inner, header: str) -> None:
    answer = await api.client.get("/v1/tree", headers={"Authorization": header.encode("latin-1")})

    assert answer.status_code == 401


async def test_a_token_in_an_address_is_refused_even_if_it_opens(api: Inner) -> None:
    answer = await api.ask("GET", f"/tree?token={api.shown['admin']}", "admin")

    assert answer.status_code == 400
    assert "Authorization" in answer.json()["detail"]


async def test_health_needs_no_token_and_tells_no_more_than_what_works(api: Inner) -> None:
    answer = await api.ask("GET", "/health", None)
    assert answer.json() == {"ok": True, "checks": {"bus": True, "store": True, "audit": True}}

    api.store.silent = "in this test"
    answer = await api.ask("GET", "/health", None)
    assert answer.status_code == 503
    assert answer.json()["checks"]["store"] is False


async def test_the_first_token_of_an_installation_opens_until_it_is_revoked(api: Inner) -> None:
    assert (await api.ask("GET", "/tokens", "first")).status_code == 200
    known = (await api.ask("GET", "/tokens", "admin")).json()["tokens"]
    first = next(token for token in known if token["name"] == "first-admin")

    assert (await api.ask("DELETE", f"/tokens/{first['id']}", "admin")).status_code == 200
    api.mono_s += 5.0

    assert (await api.ask("GET", "/tokens", "first")).status_code == 401


async def test_with_a_silent_store_nobody_is_let_in_and_the_answer_says_why(api: Inner) -> None:
    api.store.silent = "in this test"

    answer = await api.ask("GET", "/state", "viewer")

    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) >= 1
    assert "state store does not answer" in answer.json()["detail"]


async def test_a_revoked_token_opens_nothing_after_five_seconds_at_another_instance_too(api: Inner) -> None:
    assert (await api.ask("GET", "/tree", "operator")).status_code == 200
    token = await api.store.load_token("site", _digest(api.shown["operator"]))
    assert token is not None

    # another instance revokes it: this one remembers for less than five seconds
    await api.store.save_token("site", _revoked(token, api.unix_s), api.unix_s)
    api.mono_s += 4.9

    assert (await api.ask("GET", "/tree", "operator")).status_code == 401


async def test_a_token_ends_at_its_hour_though_it_is_remembered(api: Inner) -> None:
    assert (await api.ask("GET", "/tree", "viewer")).status_code == 200

    api.unix_s += 3601.0

    assert (await api.ask("GET", "/tree", "viewer")).status_code == 401


def _digest(shown: str) -> str:
    from easyrider import tokens

    return tokens.digest(shown)


def _revoked(token: Any, now_s: float) -> Any:
    import dataclasses

    return dataclasses.replace(token, revoked_s=now_s)
