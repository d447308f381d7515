"""The store and the coordinator differ: whose document stays, what is said, and that weighing holds nothing up."""

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_rulebook import book
from wired_box import TREE
from wired_site import Wired, rules

from easyrider import store_keys
from easyrider.tree import HoldRule
from easyrider.tree_reader import digest, dump
from easyrider_policy import judging, rules_at_start
from easyrider_policy import rulebook as rulebook_module
from easyrider_policy.adapters.rules_folder import RulesFolder


async def test_of_two_documents_with_one_version_the_leader_keeps_its_own_and_says_so(
    led: Wired, tmp_path: Path
) -> None:
    led.picture.accept(rules(2, pdu_w=2300.0))
    other = dump(replace(rules(2), holds=(HoldRule(id="red"),)))
    await led.store.save_rules(TREE, 2, other)

    await book(led, tmp_path).once()
    await led.seconds(0.2)

    ours = (3, dump(rules(3, pdu_w=2300.0)))
    assert led.picture.rules == rules(3, pdu_w=2300.0)
    assert await led.store.load_rules(TREE) == RulesFolder(tmp_path).newest() == ours
    (line,) = led.journal.of("rules_conflict")
    assert (line["version"], line["kept_as"], line["sha256_left"]) == (2, 3, digest(other))


async def test_of_two_documents_with_one_version_a_contender_leaves_both(tmp_path: Path) -> None:
    wired = Wired(rules(2, pdu_w=2300.0))
    await wired.store.save_rules(TREE, 2, dump(rules(2)))

    await book(wired, tmp_path).once()

    assert wired.picture.rules == rules(2, pdu_w=2300.0)
    assert await wired.store.load_rules(TREE) == (2, dump(rules(2)))


async def test_the_same_rules_in_other_words_are_no_other_document(led: Wired, tmp_path: Path) -> None:
    words = json.dumps(json.loads(dump(rules(1)))).encode()
    await led.store.save_rules(TREE, 1, words)

    await book(led, tmp_path).once()

    assert await led.store.load_rules(TREE) == (1, words)


async def test_edits_of_a_store_that_went_back_are_written_over_with_a_line(
    led: Wired, tmp_path: Path
) -> None:
    led.picture.accept(rules(9, pdu_w=2300.0))
    led.store._rules[store_keys.rules(TREE)] = (8, dump(rules(8)))

    await book(led, tmp_path).once()
    await led.seconds(0.2)

    assert await led.store.load_rules(TREE) == (9, dump(rules(9, pdu_w=2300.0)))
    (line,) = led.journal.of("rules_seeded")
    assert (line["version"], line["over"]) == (9, 8)


async def test_rules_are_weighed_beside_the_loop(
    led: Wired, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where: list[str] = []

    def noting(real: Any) -> Any:
        def noted(*words: Any, **named: Any) -> Any:
            where.append(threading.current_thread().name)
            return real(*words, **named)

        return noted

    monkeypatch.setattr(judging, "read", noting(judging.read))
    monkeypatch.setattr(judging, "build", noting(judging.build))
    monkeypatch.setattr(rulebook_module, "dump", noting(rulebook_module.dump))
    monkeypatch.setattr(rules_at_start, "dump", noting(rules_at_start.dump))
    await led.store.save_rules(TREE, 2, dump(rules(2, pdu_w=2300.0)))

    await book(led, tmp_path).once()

    assert led.picture.rules.version == 2
    assert len(where) >= 4
    assert threading.main_thread().name not in where


async def test_boards_heard_while_newer_rules_are_weighed_count(
    led: Wired, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weighed: list[int] = []
    real = rulebook_module.judged

    def during(document: bytes, version: int, tree: str, region: str, boards: Any) -> Any:
        weighed.append(len(boards))
        led.picture.boards["a2"] = replace(led.picture.boards["a0"], uuid="a2")
        return real(document, version, tree, region, boards)

    monkeypatch.setattr(rulebook_module, "judged", during)
    await led.store.save_rules(TREE, 2, dump(rules(2, pdu_w=2300.0)))

    await book(led, tmp_path).once()

    assert weighed == [4, 5]


async def test_rules_that_came_into_force_while_newer_ones_were_weighed_are_not_undone(
    led: Wired, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = rulebook_module.judged

    def during(*words: Any) -> Any:
        if led.picture.rules.version == 1:
            led.picture.accept(rules(3))
        return real(*words)

    monkeypatch.setattr(rulebook_module, "judged", during)
    await led.store.save_rules(TREE, 2, dump(rules(2, pdu_w=2300.0)))

    await book(led, tmp_path).once()

    assert led.picture.rules == rules(3)
