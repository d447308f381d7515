"""What is wrong with a request is told by field; nothing wrong is done, and nothing fails inside."""

import json
from typing import Any

import pytest
from inner_house import Inner
from site_rules import document

TARGET: dict[str, Any] = {
    "domain": "pdu",
    "begins": "2099-01-15T17:00:00+01:00",
    "ends": "2099-01-15T18:00:00+01:00",
    "target_w": 7000.0,
}
MODE: dict[str, Any] = {"selector": {"node": ["n1"]}, "mode": "observe"}


def with_raw(body: dict[str, Any], field: str, raw: str) -> bytes:
    """The body as JSON, with a field's value written as it stands here."""
    return json.dumps(body | {field: "@@"}).replace('"@@"', raw).encode()


@pytest.mark.parametrize(
    ("field", "raw"),
    [
        ("target_w", "NaN"),
        ("target_w", "Infinity"),
        ("target_w", "-Infinity"),
        ("target_w", "1e400"),
        ("target_w", "-1"),
        ("target_w", "0"),
        ("target_w", "true"),
        ("target_w", '"7000"'),
        ("target_w", "null"),
        ("target_w", "[7000]"),
        ("target_w", "9" * 5000),
        ("target_w", "9" * 25),
        ("domain", "7"),
        ("domain", '""'),
        ("domain", '"\\ud800"'),
        ("begins", '"tomorrow"'),
        ("begins", '"2027-01-15T17:00:00"'),
        ("begins", '"2027-02-31T17:00:00Z"'),
        ("reason", '"' + "x" * 501 + '"'),
        ("id", '"a.b"'),
        ("surprise", "1"),
    ],
)
async def test_a_target_with_a_wrong_field_is_refused_with_the_field(
    api: Inner, field: str, raw: str
) -> None:
    answer = await api.ask(
        "POST", "/targets", content=with_raw(TARGET, field, raw), headers={"Content-Type": "application/json"}
    )

    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert any(field in each["field"] for each in answer.json()["fields"]), answer.text
    assert await api.held() == 1


@pytest.mark.parametrize(
    ("path", "method", "body", "field"),
    [
        ("/targets", "POST", TARGET | {"domain": "nowhere"}, "domain"),
        ("/targets", "POST", TARGET | {"ends": TARGET["begins"]}, "targets"),
        ("/holds", "POST", {"domains": ["nowhere"]}, "holds"),
        ("/holds", "POST", {"domains": "pdu"}, "domains"),
        ("/modes", "PUT", MODE | {"mode": "on"}, "mode"),
        ("/modes", "PUT", MODE | {"selector": {"colour": ["red"]}}, "selector.colour"),
        ("/modes", "PUT", MODE | {"selector": {"node": []}}, "selector.node"),
        ("/modes", "PUT", MODE | {"selector": {"node": "n1"}}, "selector.node"),
        ("/release", "POST", {}, "scope"),
        ("/release", "POST", {"scope": {"node": [""]}}, "scope.node"),
        ("/tokens", "POST", {"name": "x", "role": "root"}, "role"),
        ("/tokens", "POST", {"name": "x", "role": "operator", "tenant": "t"}, "tenant"),
        ("/tokens", "POST", {"name": "x", "role": "viewer", "lifetime_s": 1e12}, "lifetime_s"),
    ],
)
async def test_what_makes_no_sense_here_is_refused_with_the_field(
    api: Inner, path: str, method: str, body: dict[str, Any], field: str
) -> None:
    answer = await api.ask(method, path, json=body, version="held")

    assert answer.status_code == 422, answer.text
    assert any(field in each["field"] for each in answer.json()["fields"]), answer.text
    assert await api.held() == 1


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"1",
        b'"text"',
        b"\xff\xfe",
        b'{"scope": {}, "scope": {}}',
        b'{"scope": {"node": ["a"], "node": ["b"]}}',
        b"[" * 5000 + b"]" * 5000,
        b'{"scope": ' * 3000 + b"1" + b"}" * 3000,
    ],
)
async def test_what_is_no_json_of_ours_is_refused(api: Inner, raw: bytes) -> None:
    answer = await api.ask("POST", "/release", content=raw, headers={"Content-Type": "application/json"})

    assert answer.status_code == 422, answer.text
    assert await api.held() == 1


async def test_a_body_that_does_not_say_that_it_is_json_is_not_read(api: Inner) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = await api.ask("POST", "/holds", content=b"{}", headers={"Content-Type": kind})

        assert answer.status_code == 415


@pytest.mark.parametrize("header", ['"7', '"x"', '"-1"', '"1", "2"', "*", 'W/"1"', '"' + "9" * 40 + '"'])
async def test_an_if_match_that_names_no_version_is_refused(api: Inner, header: str) -> None:
    answer = await api.ask("PUT", "/modes", json=MODE, headers={"If-Match": header})

    assert answer.status_code == 422
    assert answer.json()["fields"][0]["field"] == "If-Match"


async def test_an_edit_that_does_not_say_what_it_edits_is_asked_to(api: Inner) -> None:
    assert (await api.ask("PUT", "/modes", json=MODE)).status_code == 428
    assert (await api.ask("DELETE", "/modes?node=n1")).status_code == 428
    assert (await api.ask("PUT", "/tree", json=document())).status_code == 428


@pytest.mark.parametrize(
    ("other", "field"),
    [
        ({"surprise": 1}, "surprise"),
        ({"margin_w": True}, "margin_w"),
        ({"margin_w": "1"}, "margin_w"),
        ({"margin_w": -1}, "margin_w"),
        ({"nodes": []}, "nodes"),
        ({"tree": {"id": "elsewhere", "version": 1}}, "tree.id"),
        ({"tree": {"id": "site", "version": 1.5}}, "tree.version"),
        ({"domains": [{"id": "pdu", "kind": "pdu", "rating_w": 1000.0}]}, "pdu"),
        ({"modes": [{"selector": {}, "mode": "on"}]}, "mode"),
    ],
)
async def test_rules_that_cannot_be_kept_are_refused_with_every_fault(
    api: Inner, other: dict[str, Any], field: str
) -> None:
    for method, path in (("PUT", "/tree"), ("POST", "/tree/dry-run")):
        answer = await api.ask(method, path, json=document(**other), version="held")

        assert answer.status_code == 422, answer.text
        assert any(field in each["field"] for each in answer.json()["fields"]), answer.text
    assert await api.held() == 1


async def test_fallbacks_that_do_not_fit_are_refused_with_the_numbers(api: Inner) -> None:
    small = [
        {"id": "feed", "kind": "feed", "rating_w": 20000.0},
        {"id": "pdu", "kind": "pdu", "rating_w": 2500.0},
    ]

    answer = await api.ask("PUT", "/tree", json=document(domains=small), version="held")

    assert answer.status_code == 422
    assert "2800 W" in answer.text
    assert "2500 W" in answer.text


async def test_what_is_not_there_is_404_and_what_is_not_asked_405(api: Inner) -> None:
    for method, path, status in (
        ("GET", "/nothing", 404),
        ("GET", "/jobs/nobody", 404),
        ("GET", "/explain/gpus/", 404),
        ("GET", "/explain/jobs/", 404),
        ("GET", "/explain/domains/", 404),
        ("DELETE", "/targets/nobody", 404),
        ("DELETE", "/holds/nobody", 404),
        ("DELETE", "/tokens/nobody", 404),
        ("POST", "/nodes/nobody/free", 404),
        ("PATCH", "/tree", 405),
    ):
        answer = await api.ask(method, path)

        assert answer.status_code == status, (path, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
    patched = await api.ask("PATCH", "/tree")
    assert patched.headers["allow"] == "GET, PUT"
    gone = await api.ask("DELETE", "/modes?node=nobody", version="held")
    assert gone.status_code == 404


async def test_names_of_any_text_are_no_trouble(api: Inner) -> None:
    for name in ("%00", "%ff", "a%2Fb", "%F0%9F%98%80", "x" * 300, "..%2f..%2f", "%7B%7D"):
        for method, path in (
            ("GET", "/jobs/"),
            ("DELETE", "/holds/"),
            ("DELETE", "/tokens/"),
            ("DELETE", "/targets/"),
        ):
            answer = await api.ask(method, path + name)

            assert answer.status_code in (404, 422), (method, path, name, answer.text)


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=501", "limit=x", "limit=1e3", "before=-1", "limit=NaN", "limt=5", "limit=8&limit=9"],
)
async def test_a_query_that_makes_no_sense_is_refused_with_the_field(api: Inner, query: str) -> None:
    answer = await api.ask("GET", f"/audit?{query}")

    assert answer.status_code == 422
    assert query.partition("=")[0] in answer.json()["fields"][0]["field"]
