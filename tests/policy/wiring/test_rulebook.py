"""Which rules are in force, and how the disk, the given file and the store come to hold the same."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from wired_box import TREE
from wired_site import Wired, rules, with_modes

from easyrider.errors import BadConfig
from easyrider.messages import ExitGrant, SetLimits
from easyrider.testing import FakeStore
from easyrider.tree_reader import dump
from easyrider_policy.adapters import rules_folder
from easyrider_policy.adapters.rules_folder import RulesFolder
from easyrider_policy.rulebook import Rulebook
from easyrider_policy.rules_at_start import first_rules, stored_rules


def given(folder: Path, known: Any) -> Path:
    path = folder / "site.yaml"
    path.write_bytes(dump(known))
    return path


def test_without_any_rules_there_are_none(tmp_path: Path) -> None:
    assert first_rules(RulesFolder(tmp_path), None, TREE) is None


def test_the_given_file_is_checked_and_kept_for_the_next_start(tmp_path: Path) -> None:
    path = given(tmp_path, rules(3))

    first = first_rules(RulesFolder(tmp_path / "state"), path, TREE)
    again = first_rules(RulesFolder(tmp_path / "state"), None, TREE)

    assert first == again == rules(3)


@pytest.mark.parametrize(("kept", "offered", "wins"), [(3, 4, 4), (4, 3, 4), (3, 3, 3)])
def test_the_higher_version_of_disk_and_file_wins(
    tmp_path: Path, kept: int, offered: int, wins: int, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = RulesFolder(tmp_path / "state")
    folder.keep(kept, dump(rules(kept)))

    in_force = first_rules(folder, given(tmp_path, replace(rules(offered), margin_w=10.0)), TREE)

    assert in_force is not None
    assert in_force.version == wins
    assert ("raise its version" in capsys.readouterr().out) == (offered <= kept)


def test_a_tree_of_another_id_is_refused_with_both_names(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match=r"'site'.*'hall-2'"):
        first_rules(RulesFolder(tmp_path / "state"), given(tmp_path, rules()), "hall-2")


def test_fallbacks_that_do_not_fit_are_refused_with_the_watts(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match=r"1200 W.*1100 W"):
        first_rules(RulesFolder(tmp_path / "state"), given(tmp_path, rules(pdu_w=1100.0)), TREE)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"tree: [", b""])
def test_a_file_that_is_no_document_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "site.yaml").write_bytes(content)

    with pytest.raises(BadConfig):
        first_rules(RulesFolder(tmp_path / "state"), tmp_path / "site.yaml", TREE)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match=r"absent\.yaml"):
        first_rules(RulesFolder(tmp_path / "state"), tmp_path / "absent.yaml", TREE)


async def test_a_first_start_without_a_file_takes_what_the_store_holds(tmp_path: Path) -> None:
    store, folder = FakeStore(), RulesFolder(tmp_path)
    await store.save_rules(TREE, 2, dump(rules(2)))

    assert await stored_rules(store, folder, TREE) == rules(2)
    assert folder.newest() == (2, dump(rules(2)))


def book(wired: Wired, folder: Path) -> Rulebook:
    kept = RulesFolder(folder)
    return Rulebook(wired.store, kept, wired.picture, TREE, wired.scribe.note, wired.news.say, lambda: None)


@pytest.mark.parametrize("held", [None, 1])
async def test_a_store_with_older_rules_or_none_gets_ours(tmp_path: Path, held: int | None) -> None:
    wired = Wired(rules(2))
    if held is not None:
        await wired.store.save_rules(TREE, held, dump(rules(held)))

    await book(wired, tmp_path).once()

    assert await wired.store.load_rules(TREE) == (2, dump(rules(2)))


async def test_a_store_with_newer_rules_keeps_them(tmp_path: Path) -> None:
    wired = Wired(rules(2))
    await wired.store.save_rules(TREE, 5, dump(rules(5)))

    await book(wired, tmp_path).once()

    assert (await wired.store.load_rules(TREE))[0] == 5  # type: ignore[index]


async def test_newer_rules_are_on_this_disk_before_they_are_in_force(tmp_path: Path) -> None:
    wired = Wired(rules(1))
    await wired.store.save_rules(TREE, 2, dump(rules(2, pdu_w=2000.0)))

    await book(wired, tmp_path).once()
    await wired.seconds(0.2)

    assert RulesFolder(tmp_path).newest() == (2, dump(rules(2, pdu_w=2000.0)))
    assert wired.picture.hard_w.tolist() == [6000.0, 2000.0]
    assert wired.journal.of("rules_adopted")


async def test_newer_rules_that_cannot_be_kept_on_this_disk_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    wired = Wired(rules(1))
    await wired.store.save_rules(TREE, 2, dump(rules(2)))
    with monkeypatch.context() as broken:
        broken.setattr(rules_folder.os, "fsync", full)
        await book(wired, tmp_path).once()
        assert wired.picture.rules.version == 1

    await book(wired, tmp_path).once()

    assert wired.picture.rules.version == 2


@pytest.mark.parametrize(
    "document",
    [
        dump(rules(2, pdu_w=1100.0)),
        dump(rules(3)),
        dump(replace(rules(2), id="other")),
        b"\xff",
        b'{"tree":',
    ],
)
async def test_newer_rules_that_cannot_be_kept_safe_are_refused_once_and_ours_stay(
    tmp_path: Path, document: bytes
) -> None:
    wired = Wired(rules(1))
    await wired.store.save_rules(TREE, 2, document)
    rulebook = book(wired, tmp_path)

    await rulebook.once()
    await rulebook.once()
    await wired.seconds(0.2)

    assert wired.picture.rules.version == 1
    assert len(wired.journal.of("rules_refused")) == 1
    assert RulesFolder(tmp_path).newest() is None


async def test_boards_that_nodes_reported_count_when_newer_rules_are_judged(tmp_path: Path) -> None:
    wired = Wired(rules(1))
    await wired.seconds(0.5)
    undeclared = replace(rules(2).classes["box"], gpu_count=None)
    newer = replace(rules(2, pdu_w=1100.0), classes={"box": undeclared})
    await wired.store.save_rules(TREE, 2, dump(newer))

    await book(wired, tmp_path).once()

    assert wired.picture.rules.version == 1, "the fallbacks of the boards that are there do not fit"


async def test_a_silent_store_changes_nothing(tmp_path: Path) -> None:
    wired = Wired(rules(1))
    wired.store.silent = "gone"

    await book(wired, tmp_path).once()

    assert wired.picture.rules.version == 1


async def limited(tmp_path: Path) -> tuple[Wired, Rulebook]:
    wired = Wired(rules(1))
    wired.metered = True
    await wired.seconds(2)
    for name in "ab":
        wired.starts(f"job-{name}", name)
    await wired.seconds(12)
    return wired, book(wired, tmp_path)


async def test_leaving_enforce_moves_no_limit_until_the_baseline_fits_and_coming_back_none_at_all(
    tmp_path: Path,
) -> None:
    wired, rulebook = await limited(tmp_path)
    held = {name: [*box.limit_w] for name, box in wired.boxes.items()}

    await wired.store.save_rules(TREE, 2, dump(with_modes(rules(), "observe", 2)))
    await rulebook.once()
    await wired.seconds(5)
    observed = {name: [*box.limit_w] for name, box in wired.boxes.items()}
    exits = len(wired.said(ExitGrant))
    await wired.store.save_rules(TREE, 3, dump(with_modes(rules(), "enforce", 3, override="it was there")))
    await rulebook.once()
    await wired.seconds(0.5)
    back = {name: [*box.limit_w] for name, box in wired.boxes.items()}

    assert exits == 0, "baselines of 700 W a board do not fit"
    assert observed == held
    assert back == held
    down, up = wired.bus.events("mode_change")
    assert (down["version"], down["from"], down["to"], down["gpus"]) == (2, "enforce", "observe", 4)
    assert (down["gate"], down["override"]) == ("", "")
    assert (up["version"], up["from"], up["to"], up["gpus"]) == (3, "observe", "enforce", 4)
    assert (up["scope"], up["gate"], up["override"]) == ("node=*", "overridden", "it was there")
    assert "observe days 0.00 of 14" in up["evidence"]


async def test_from_observe_to_enforce_limits_come_without_a_new_lead(tmp_path: Path) -> None:
    wired = Wired(rules(1, mode="observe"))
    await wired.seconds(10)
    assert not wired.said(SetLimits)

    await wired.store.save_rules(TREE, 2, dump(with_modes(rules(), "enforce", 2, override="a new hall")))
    await book(wired, tmp_path).once()
    await wired.seconds(3)

    assert wired.picture.safety.lead.epoch == 1
    assert sum(sum(box.limit_w) for box in wired.boxes.values()) + 200.0 <= 2400.0


async def test_a_lower_hard_limit_in_newer_rules_is_held_within_a_second(tmp_path: Path) -> None:
    wired, rulebook = await limited(tmp_path)
    await wired.store.save_rules(TREE, 2, dump(rules(2, pdu_w=1800.0)))

    await rulebook.once()
    await wired.seconds(0.3)

    assert sum(sum(box.limit_w) for box in wired.boxes.values()) + 200.0 <= 1800.0 + 1e-6


def test_a_version_is_synced_with_its_folder_and_put_in_place_by_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    real = os.fsync
    monkeypatch.setattr(
        rules_folder.os, "fsync", lambda f: (seen.append((tmp_path / "rules-7.json").exists()), real(f))[1]
    )

    RulesFolder(tmp_path).keep(7, b"{}")

    assert seen == [False, True], "the document before the rename, the folder after it"


def test_the_highest_number_wins_and_strange_names_are_no_versions(tmp_path: Path) -> None:
    folder = RulesFolder(tmp_path)
    for version in (2, 10, 9):
        folder.keep(version, b"%d" % version)
    (tmp_path / "rules-²³.json").write_text("")
    (tmp_path / "rules-99.json.half").write_text("")
    (tmp_path / "rules-x.json").write_text("")

    assert folder.newest() == (10, b"10")


def test_old_versions_are_let_go(tmp_path: Path) -> None:
    folder = RulesFolder(tmp_path)
    for version in range(1, 31):
        folder.keep(version, b"{}")

    assert len(list(tmp_path.glob("rules-*.json"))) == 20
    assert folder.newest() == (30, b"{}")
