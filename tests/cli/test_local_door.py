"""Edits at the store of this machine's stack: checked, audited and told as the admin API does it."""

import asyncio
import errno
import json
import os
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from easyrider.admin_store import RulesMoved
from easyrider.messages import Answer, Ask
from easyrider.messages.asks import REFUSED
from easyrider.store_port import StoreSilent
from easyrider.testing import Exchange, FakeAdminStore, FakeBus
from easyrider.tree import Domain, HoldRule, ModeRule, Node, NodeClass, Rules
from easyrider.tree_reader import digest, dump, read
from easyrider_cli.address import Address
from easyrider_cli.doors import NoAnswer, Refused
from easyrider_cli.local_audit import LocalAudit
from easyrider_cli.local_door import LocalDoor

TREE, REGION = "site", "local"
RED = HoldRule(id="red", reason="smoke", by="ann")


def rules(version: int, **other: Any) -> Rules:
    known = Rules(
        id=TREE,
        version=version,
        domains=(Domain(id="pdu", kind="pdu", rating_w=4000.0),),
        classes={
            "box": NodeClass(
                overhead_w=100.0, overhead_slope=1.0, gpu_min_w=200.0, gpu_max_w=700.0, gpu_count=2
            )
        },
        nodes=tuple(Node(id=n, domain="pdu", node_class="box", fallback_w_per_gpu=250.0) for n in "ab"),
        modes=(ModeRule(selector={"node": ("*",)}, mode="enforce"),),
    )
    return read(dump(replace(known, **other)).decode(), "test")


class Stack:
    """A store, and a leader that adopts what it holds, `refuses` it, or puts its own (`keeps`) in its place."""

    def __init__(self, folder: Path, runner: asyncio.Runner) -> None:
        self.folder, self.runner, self.store = folder, runner, FakeAdminStore()
        self.refuses, self.meanwhile = "", 0
        self.keeps: Rules | None = None
        self.ends = AsyncExitStack()
        runner.run(self.store.save_rules(TREE, 1, dump(rules(1))))
        self.door = runner.run(self._open())

    async def _open(self) -> LocalDoor:
        exchange = Exchange()
        ours = await self.ends.enter_async_context(FakeBus.connect(exchange))
        leader = await self.ends.enter_async_context(FakeBus.connect(exchange))
        await leader.answer(REGION, self._answer)
        place = Address(
            nats_url="", redis_url="", region=REGION, tree=TREE, nodes=("a", "b"), watcher_seed=None
        )
        return LocalDoor(self.runner, ours, self.store, place, "ann", LocalAudit(self.folder, "ann"))

    async def _answer(self, ask: Ask) -> Answer:
        if self.meanwhile:
            await self.store.save_rules(TREE, self.meanwhile, dump(rules(self.meanwhile)))
        if self.keeps is not None:
            mine, self.keeps = self.keeps, None
            await self.store.save_rules(TREE, mine.version, dump(mine))
        version, document = await self.store.load_rules(TREE) or (0, b"")
        body = json.dumps({"sha256": digest(document)}).encode()
        return Answer(
            tree=TREE, region=REGION, ok=not self.refuses, reason=self.refuses, epoch=1, version=version, t_ns=0,
            body=body,
        )  # fmt: skip

    def held(self) -> Rules:
        version, document = self.runner.run(self.store.load_rules(TREE)) or (0, b"")
        found = read(document.decode(), "the store")
        assert found.version == version
        return found

    def lines(self) -> list[dict[str, Any]]:
        path = self.folder / "journal.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    with asyncio.Runner() as runner:
        stack = Stack(tmp_path / "local-door", runner)
        yield stack
        runner.run(stack.ends.aclose())


def test_a_hold_is_in_the_journal_with_who_what_was_and_what_is(stack: Stack) -> None:
    done = stack.door.hold(RED)

    assert (done.version, done.in_force) == (2, True)
    intent, result = stack.lines()
    assert (intent["what"], intent["who"], intent["act"]) == ("intent", "ann", "hold red")
    assert json.loads(intent["after"])["holds"][0]["id"] == "red"
    assert (result["what"], result["result"], result["version"]) == ("result", "done", 2)
    assert result["id"] == intent["id"]


def test_what_cannot_be_audited_is_not_made(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_words: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "write", full)
        with pytest.raises(Refused, match=r"audit journal.*No space left"):
            stack.door.hold(RED)

    assert stack.held() == rules(1)


def test_what_is_meant_is_synced_before_the_store_has_it(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    sync, save = os.fdatasync, stack.store.replace_rules

    async def saved(*words: Any) -> None:
        order.append("saved")
        await save(*words)

    monkeypatch.setattr(os, "fdatasync", lambda file: (order.append("synced"), sync(file))[1])
    monkeypatch.setattr(stack.store, "replace_rules", saved)
    stack.door.hold(RED)

    assert order == ["synced", "saved", "synced"]


def test_rules_that_no_coordinator_could_keep_are_not_saved(stack: Stack) -> None:
    def small(known: Rules) -> Rules:
        return replace(known, domains=(replace(known.domains[0], rating_w=900.0),))

    with pytest.raises(Refused, match=r"1200 W.*900 W"):
        stack.door._edited(small)

    assert stack.held() == rules(1)
    assert stack.lines() == []


def test_what_the_coordinator_refuses_is_taken_back(stack: Stack) -> None:
    stack.refuses = f"{REFUSED}, version 1 stays in force: too much"

    with pytest.raises(Refused, match=r"too much; the rules before stand again, as version 3"):
        stack.door.hold(RED)

    assert stack.held() == rules(3)
    assert stack.lines()[-1]["result"] == "refused"


def test_what_somebody_edited_meanwhile_is_not_taken_back_and_that_is_said(stack: Stack) -> None:
    stack.refuses, stack.meanwhile = f"{REFUSED}, version 1 stays in force: too much", 7

    done = stack.door.hold(RED)

    assert not done.in_force
    assert "could not be taken back" in done.why
    assert "version 7" in done.why
    assert "\n" not in done.why
    assert stack.held() == rules(7)


def test_an_edit_that_another_document_overtook_is_made_again_on_that_one(stack: Stack) -> None:
    stack.keeps = rules(3, margin_w=50.0)

    done = stack.door.hold(RED)

    assert (done.version, done.in_force) == (4, True)
    assert stack.held() == rules(4, margin_w=50.0, holds=(RED,))
    assert [line["result"] for line in stack.lines() if line["what"] == "result"] == ["refused", "done"]


def test_an_edit_that_always_loses_ends_in_one_line(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    async def moved(*_words: Any) -> None:
        raise RulesMoved(9, 1)

    monkeypatch.setattr(stack.store, "replace_rules", moved)

    with pytest.raises(Refused, match="others edited the rules"):
        stack.door.hold(RED)


def test_what_became_of_an_edit_is_not_known_where_the_store_did_not_answer(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def silent(*_words: Any) -> None:
        raise StoreSilent("replace_rules", "no answer in 0.5 s")

    monkeypatch.setattr(stack.store, "replace_rules", silent)

    with pytest.raises(NoAnswer):
        stack.door.hold(RED)

    assert stack.lines()[-1]["result"] == "unknown"
