"""The API as a process, before real servers and a real coordinator."""

import asyncio
import base64
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from live_api import LiveApi, api_process, live_api, until, up

from easyrider import event_kinds, subjects
from easyrider.bus import Bus

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveApi]:
    with live_api(tmp_path_factory.mktemp("live"), body_timeout_s=1.0, head_timeout_s=1.0) as found:
        yield found


def test_an_edit_is_adopted_by_the_coordinator_before_the_answer(live: LiveApi) -> None:
    read = live.ask("GET", "/modes")

    put = live.ask(
        "PUT",
        "/modes",
        json={"selector": {"node": ["n2"]}, "mode": "observe", "reason": "test"},
        headers={"If-Match": read.headers["etag"]},
    )

    assert put.status_code == 200, put.text
    assert put.json()["adoption"] == "adopted"
    assert live.ask("GET", "/state").json()["version"] in (put.json()["version"], put.json()["version"] - 1)
    assert (live.folder / "policy" / f"rules-{put.json()['version']}.json").exists()
    until(
        lambda: live.ask("GET", "/state").json()["version"] == put.json()["version"],
        5,
        "the new version shown",
    )


def test_a_hold_is_in_what_the_coordinator_says_of_itself(live: LiveApi) -> None:
    made = live.ask("POST", "/holds", json={"domains": ["pdu"], "reason": "test"})
    assert made.status_code == 201, made.text
    held = made.json()["id"]

    def shown() -> bool:
        domains = live.ask("GET", "/state").json()["domains"]
        return held in next(row for row in domains if row["domain"] == "pdu")["held"]

    until(shown, 5, "the hold in the state")
    assert live.ask("DELETE", f"/holds/{held}").json()["adoption"] == "adopted"


def test_a_node_that_never_spoke_is_freed_once(live: LiveApi) -> None:
    first = live.ask("POST", "/nodes/n1/free")
    again = live.ask("POST", "/nodes/n1/free")

    assert first.status_code == 200, first.text
    assert again.status_code == 409
    assert "nothing already" in again.json()["detail"]


def test_rules_that_the_coordinator_alone_can_refuse_are_taken_back(live: LiveApi) -> None:
    """Its disk may be full where ours is not: what it cannot keep it does not adopt."""
    version = int(live.ask("GET", "/tree").headers["etag"].strip('"'))
    in_the_way = live.folder / "policy" / f".rules-{version + 1}.half"
    in_the_way.mkdir()  # it cannot write the next version
    try:
        answer = live.ask("POST", "/holds", json={"id": "refused"})
    finally:
        in_the_way.rmdir()

    assert answer.status_code == 409, answer.text
    assert "disk" in answer.json()["detail"]
    assert live.ask("GET", "/tree").headers["etag"] == f'"{version + 2}"'
    assert "refused" not in [hold["id"] for hold in live.ask("GET", "/holds").json()["holds"]]
    until(lambda: live.ask("GET", "/state").json()["version"] == version + 2, 10, "the rules before in force")


def test_a_dry_run_rests_on_what_the_coordinator_knows(live: LiveApi) -> None:
    then = live.ask("GET", "/tree").json()
    then["domains"][1]["rating_w"] = 6000.0

    told = live.ask("POST", "/tree/dry-run", json=then)

    assert told.status_code == 200, told.text
    pdu = next(row for row in told.json()["domains"] if row["domain"] == "pdu")
    assert pdu["hard_limit_w"] == [9000.0, 6000.0]
    assert live.ask("GET", "/tree").json()["domains"][1]["rating_w"] == 9000.0


def test_a_token_revoked_at_one_instance_opens_nothing_at_another_within_five_seconds(live: LiveApi) -> None:
    nats, redis = live.servers["nats"].url, live.servers["redis"].url
    other = up(api_process(live.folder, "other", nats, redis), live.folder, "other", live.admin)
    try:
        shown = live.token("short", "viewer")
        token_id = next(t["id"] for t in live.ask("GET", "/tokens").json()["tokens"] if t["name"] == "short")
        assert other.ask("GET", "/tree", shown).status_code == 200

        began_s = time.monotonic()
        assert live.ask("DELETE", f"/tokens/{token_id}").status_code == 200
        assert live.ask("GET", "/tree", shown).status_code == 401
        until(lambda: other.ask("GET", "/tree", shown).status_code == 401, 5, "the token to open nothing")

        assert time.monotonic() - began_s < 5.0
    finally:
        assert other.process.end() == 0


def test_of_two_edits_at_two_instances_at_once_one_wins(live: LiveApi) -> None:
    nats, redis = live.servers["nats"].url, live.servers["redis"].url
    other = up(api_process(live.folder, "second", nats, redis), live.folder, "second", live.admin)
    try:
        version = live.ask("GET", "/modes").headers["etag"]
        statuses: list[int] = []

        def edit(where: LiveApi, queue: str) -> None:
            body = {"selector": {"queue": [queue]}, "mode": "shadow"}
            statuses.append(where.ask("PUT", "/modes", json=body, headers={"If-Match": version}).status_code)

        threads = [
            threading.Thread(target=edit, args=(where, f"at-once-{k}"))
            for k, where in enumerate((live, other, live, other))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert sorted(statuses) == [200, 412, 412, 412]
        modes = other.ask("GET", "/modes").json()["modes"]
        assert len([row for row in modes if row["selector"].get("queue", [""])[0].startswith("at-once")]) == 1
    finally:
        assert other.process.end() == 0


def test_a_change_is_said_on_the_bus_once(live: LiveApi) -> None:
    async def heard() -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        async with Bus.connect(live.servers["nats"].url, name="dashboard", wait_s=10) as bus:
            await bus.listen(
                subjects.events_of("audit"), lambda data, _arrival: events.append(json.loads(data))
            )
            await asyncio.to_thread(live.ask, "POST", "/holds", json={"id": "told", "reason": "test"})
            await asyncio.to_thread(live.ask, "DELETE", "/holds/told")
            end_s = time.monotonic() + 5
            while len(events) < 2 and time.monotonic() < end_s:
                await asyncio.sleep(0.02)
        return events

    first, second = asyncio.run(heard())

    assert first["type"] == "easyrider.audit"
    event_kinds.check("audit", first["data"])
    assert (first["data"]["act"], first["data"]["result"], first["data"]["reason"]) == (
        "post /holds",
        "done",
        "test",
    )
    assert json.loads(second["data"]["before"])["holds"][0]["id"] == "told"


def test_no_token_stands_in_the_store_the_journal_the_log_or_the_metrics(live: LiveApi) -> None:
    shown = live.token("canary", "operator")
    live.ask("POST", "/holds", shown, json={"id": "canary"}, headers={"Idempotency-Key": "canary-1"})
    live.ask("DELETE", "/holds/canary", shown)
    live.ask("GET", "/tree", shown[:-1] + ("a" if shown[-1] != "a" else "b"))
    live.ask("GET", f"/tree?token={shown}", shown)
    dump = everything(live.servers["redis"].url)
    door = (live.folder / "api.health").read_text()
    texts = {
        "store": dump,
        "journal": (live.folder / "api" / "journal.jsonl").read_text(),
        "log": live.process.said(),
        "coordinator": live.policy.said() if live.policy else "",
        "metrics": httpx.get(f"http://{door}/metrics").text,
        "processes": Path(f"/proc/{live.process.pid}/cmdline").read_text()
        + Path(f"/proc/{live.process.pid}/environ").read_text(),
    }

    for where, text in texts.items():
        assert text, where
        for secret in (shown.removeprefix("er_"), live.admin.removeprefix("er_")):
            assert secret not in text, where
            assert base64.b64encode(secret.encode()).decode() not in text, where
            assert base64.b64encode(f"er_{secret}".encode()).decode()[:-4] not in text, where


def everything(url: str) -> str:
    """Every key and value of the store."""
    import redis

    client = redis.Redis.from_url(url)
    found: list[Any] = []
    for key in client.scan_iter("*"):
        kind = client.type(key)
        found += [key, client.hgetall(key) if kind == b"hash" else client.get(key)]
    client.close()
    return repr(found)


def test_everything_comes_back_after_store_and_bus_were_gone(live: LiveApi) -> None:
    redis, nats = live.servers["redis"], live.servers["nats"]
    redis.kill()
    silent = until(
        lambda: (r := live.ask("GET", "/tree")).status_code == 503 and r, 10, "a silent store to be told"
    )
    assert "state store does not answer" in silent.json()["detail"]
    assert httpx.get(f"{live.url}/v1/health").status_code in (200, 503)
    redis.start()
    until(lambda: live.ask("GET", "/tree").status_code == 200, 30, "rules again, from the coordinator's disk")

    nats.kill()
    silent = until(
        lambda: (r := live.ask("GET", "/state")).status_code == 503 and r, 10, "a silent bus to be told"
    )
    assert "No coordinator answers" in silent.json()["detail"]
    assert live.ask("GET", "/tree").status_code == 200
    nats.start()
    until(lambda: live.ask("GET", "/state").status_code == 200, 30, "the coordinator again")
