"""Every change, done or refused, is one record: who, from where, what was and what is."""

import errno
import json
from pathlib import Path
from typing import Any

import pytest
from inner_house import Inner
from site_rules import document

from easyrider_policy_api.adapters.audit_file import newest_first

MODE: dict[str, Any] = {"selector": {"node": ["n1"]}, "mode": "observe", "reason": "maintenance"}
TARGET: dict[str, Any] = {
    "domain": "pdu",
    "begins": "2099-01-15T17:00:00+01:00",
    "ends": "2099-01-15T18:00:00+01:00",
    "target_w": 7000.0,
}
CHANGES: list[tuple[str, str, dict[str, Any]]] = [
    ("PUT", "/modes", {"json": MODE, "version": "held"}),
    ("DELETE", "/modes?rack=pdu", {"version": "held"}),
    ("PUT", "/tree", {"json": document(margin_w=50.0), "version": "held"}),
    ("POST", "/targets", {"json": TARGET}),
    ("POST", "/holds", {"json": {"domains": ["pdu"]}}),
    ("POST", "/release", {"json": {"scope": {}}}),
    ("POST", "/nodes/n1/free", {}),
    ("POST", "/tokens", {"json": {"name": "new", "role": "viewer"}}),
]


@pytest.mark.parametrize(("method", "path", "words"), CHANGES, ids=[f"{m} {p}" for m, p, _ in CHANGES])
async def test_a_change_that_is_done_is_one_record_with_before_and_after(
    api: Inner, method: str, path: str, words: dict[str, Any]
) -> None:
    answer = await api.ask(method, path, **words)
    assert answer.status_code < 300, answer.text

    (record,) = (await api.ask("GET", "/audit")).json()["records"]
    assert (record["result"], record["status"]) == ("done", answer.status_code)
    assert (record["who"], record["role"], record["peer"]) == ("admin", "admin", "127.0.0.1")
    assert record["act"].startswith(method.lower())
    assert json.loads(record["after"])
    (event,) = api.bus.events("audit")
    assert event["id"] == record["id"]
    assert event["after"] == record["after"]


@pytest.mark.parametrize(("method", "path", "words"), CHANGES, ids=[f"{m} {p}" for m, p, _ in CHANGES])
@pytest.mark.parametrize("who", [None, "wrong", "viewer"])
async def test_a_change_that_is_refused_is_one_record_too(
    api: Inner, method: str, path: str, words: dict[str, Any], who: str | None
) -> None:
    answer = await api.ask(method, path, who, **words)

    (record,) = (await api.ask("GET", "/audit")).json()["records"]
    assert (record["result"], record["status"]) == ("refused", answer.status_code)
    assert record["why"] == answer.json()["detail"]
    assert record["who"] == ("viewer" if who == "viewer" else "")
    assert [event["result"] for event in api.bus.events("audit")] == ["refused"]
    assert await api.held() == 1


async def test_what_was_there_and_what_is_are_those_of_the_sections_that_changed(api: Inner) -> None:
    await api.ask("PUT", "/modes", "operator", json=MODE, version="held")

    (record,) = (await api.ask("GET", "/audit", "operator")).json()["records"]
    before, after = json.loads(record["before"]), json.loads(record["after"])
    assert before["modes"] == [
        {"selector": {"rack": ["pdu"]}, "mode": "enforce", "reason": "proved", "since": ""}
    ]
    assert after["modes"][0] == before["modes"][0]
    assert after["modes"][1]["mode"] == "observe"
    assert set(before) == set(after) == {"tree", "modes"}
    assert record["reason"] == "maintenance"
    assert record["version"] == 2


async def test_of_a_long_list_only_the_rows_that_changed_are_told(api: Inner) -> None:
    tree = (await api.ask("GET", "/tree")).json()
    tree["nodes"][1]["fallback_w_per_gpu"] = 300.0

    await api.ask("PUT", "/tree", json=tree, version="held")

    (record,) = (await api.ask("GET", "/audit")).json()["records"]
    assert [node["fallback_w_per_gpu"] for node in json.loads(record["before"])["nodes"]] == [250.0]
    assert [node["fallback_w_per_gpu"] for node in json.loads(record["after"])["nodes"]] == [300.0]


async def test_an_edit_that_lost_is_a_record_with_its_conflict(api: Inner) -> None:
    await api.ask("PUT", "/modes", json=MODE, version=1)
    await api.ask("PUT", "/modes", json=MODE | {"mode": "shadow"}, version=1)

    lost, won = (await api.ask("GET", "/audit")).json()["records"]
    assert (won["result"], won["status"]) == ("done", 200)
    assert (lost["result"], lost["status"]) == ("refused", 412)


async def test_questions_and_dry_runs_change_nothing_and_are_not_told(api: Inner) -> None:
    for path in ("/tree", "/state", "/jobs", "/nothing"):
        await api.ask("GET", path)
    await api.ask("POST", "/tree/dry-run", json=document())

    assert api.audit() == []
    assert api.bus.events("audit") == []


async def test_what_is_meant_is_on_the_disk_before_the_rules_are(api: Inner, monkeypatch: Any) -> None:
    seen: list[str] = []
    replace = api.store.replace_rules

    async def looked(*words: Any) -> None:
        seen.extend(line["what"] for line in api.audit())
        await replace(*words)

    monkeypatch.setattr(api.store, "replace_rules", looked)
    await api.ask("POST", "/holds", json={})

    assert seen == ["intent"]


async def test_what_cannot_be_audited_is_not_done(api: Inner, monkeypatch: Any) -> None:
    import os

    def full(*_words: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    answer = await api.ask("POST", "/holds", json={})
    monkeypatch.undo()

    assert answer.status_code == 503
    assert "audit journal cannot be written" in answer.json()["detail"]
    assert await api.held() == 1
    assert (await api.ask("GET", "/health", None)).json()["checks"]["audit"] is False

    assert (await api.ask("POST", "/holds", json={})).status_code == 201
    assert (await api.ask("GET", "/health", None)).json()["checks"]["audit"] is True


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_write_that_ends_by_a_fault_of_ours_keeps_no_later_change_waiting(
    api: Inner, monkeypatch: Any
) -> None:
    def faulty(*_words: Any) -> None:
        raise KeyError("in this test")

    monkeypatch.setattr(api.auditor._journal, "intend", faulty)
    refused = await api.ask("POST", "/holds", json={})
    monkeypatch.undo()

    assert refused.status_code == 503
    assert (await api.ask("POST", "/holds", json={})).status_code == 201


async def test_a_change_begun_by_a_process_that_died_is_told_as_unknown(api: Inner, monkeypatch: Any) -> None:
    async def dies(*_words: Any) -> None:
        raise KeyError("in this test")

    monkeypatch.setattr(api.store, "replace_rules", dies)
    answer = await api.ask("POST", "/holds", json={})
    assert answer.status_code == 500

    (record,) = (await api.ask("GET", "/audit")).json()["records"]
    assert record["result"] == "unknown"


async def test_the_audit_is_read_page_by_page(api: Inner) -> None:
    for k in range(7):
        await api.ask("POST", "/holds", json={"id": f"h{k}"})

    first = (await api.ask("GET", "/audit?limit=3")).json()
    second = (await api.ask("GET", f"/audit?limit=3&before={first['next_before']}")).json()
    third = (await api.ask("GET", f"/audit?limit=3&before={second['next_before']}")).json()

    told = [
        json.loads(r["after"])["holds"][0]["id"] for page in (first, second, third) for r in page["records"]
    ]
    assert told == [f"h{k}" for k in reversed(range(7))]
    assert third["next_before"] is None


async def test_no_token_is_in_the_audit(api: Inner) -> None:
    made = await api.ask("POST", "/tokens", json={"name": "new", "role": "viewer"})
    await api.ask("POST", "/tokens", "wrong", json={"name": "new", "role": "viewer"})

    text = json.dumps(api.audit()) + json.dumps(api.bus.events("audit"))
    for shown in (made.json()["token"], *api.shown.values()):
        assert shown not in text
        assert shown.removeprefix("er_") not in text


async def test_a_disk_that_hangs_is_told_at_once_and_everything_else_goes_on(
    api: Inner, monkeypatch: Any
) -> None:
    import os
    import threading

    hangs, write = threading.Event(), os.write

    def hanging(*words: Any) -> int:
        hangs.wait(30)
        return write(*words)

    monkeypatch.setattr("easyrider_policy_api.auditor.DEADLINE_S", 0.2)
    monkeypatch.setattr(os, "write", hanging)
    answers = [await api.ask("POST", "/holds", json={"id": f"h{k}"}) for k in range(12)]
    others = [await api.ask("GET", "/modes"), await api.ask("POST", "/tree/dry-run", json=document())]
    hangs.set()

    assert {answer.status_code for answer in answers} == {503}
    assert [answer.status_code for answer in others] == [200, 200]
    assert len([thread for thread in threading.enumerate() if thread.name == "audit"]) <= 1
    assert await api.held() == 1


async def test_a_long_journal_is_read_from_its_end(api: Inner, tmp_path: Path) -> None:
    lines = []
    for k in range(1, 40_001):
        what = "intent" if k % 2 else "result"
        lines.append(
            json.dumps({"line": k, "what": what, "id": f"c{(k + 1) // 2}", "t_ns": 0, "result": "done"})
        )
    (tmp_path / "journal.1.jsonl").write_text("\n".join(lines[:30_000]) + "\n")
    (tmp_path / "journal.jsonl").write_text("\n".join(lines[30_000:]) + '\n{"line": 40001, "what": "int')

    ids, before = [], None
    while True:
        records, before = newest_first(tmp_path / "journal.jsonl", 500, before)
        ids += [record["id"] for record in records]
        if before is None or len(ids) > 30_000:
            break

    assert ids == [f"c{k}" for k in range(20_000, 0, -1)]
