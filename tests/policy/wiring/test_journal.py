"""Lines on a disk that is whole, full, or gone in the middle of one."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from easyrider import journal as module
from easyrider.journal import Journal, JournalBroken


def lines(folder: Path, name: str = "journal.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def fill(monkeypatch: pytest.MonkeyPatch, after_bytes: int) -> None:
    """The disk takes so many bytes of the next write and is full then."""
    real = os.write
    left = [after_bytes]

    def write(file: int, data: bytes) -> int:
        if not left[0]:
            raise OSError(28, "No space left on device")
        taken = real(file, bytes(data)[: left[0]])
        left[0] -= taken
        return taken

    monkeypatch.setattr(module.os, "write", write)


def test_lines_are_numbered_on_over_a_restart(tmp_path: Path) -> None:
    first = Journal(tmp_path / "state")
    first.intend([{"what": "intent"}, {"what": "ack"}])
    first.close()

    Journal(tmp_path / "state").note([{"what": "verified"}])

    assert [line["line"] for line in lines(tmp_path / "state")] == [1, 2, 3]


def test_an_intent_is_synced_before_intend_returns_and_a_note_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    real_write, real_sync = os.write, os.fdatasync
    monkeypatch.setattr(module.os, "write", lambda f, data: (done.append("write"), real_write(f, data))[1])
    monkeypatch.setattr(module.os, "fdatasync", lambda f: (done.append("sync"), real_sync(f))[1])
    journal = Journal(tmp_path)

    journal.note([{"what": "ack"}])
    journal.intend([{"what": "intent"}])

    assert done == ["write", "write", "sync"]


def test_a_full_disk_is_told_and_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path)
    journal.note([{"what": "ack"}])
    with monkeypatch.context() as full:
        fill(full, 10)
        with pytest.raises(JournalBroken, match="No space left"):
            journal.intend([{"what": "intent"}])

    journal.intend([{"what": "intent"}])

    assert [(line["line"], line["what"]) for line in lines(tmp_path)] == [(1, "ack"), (2, "intent")]


def test_lines_that_fitted_before_the_disk_was_full_are_not_there_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, meant = Journal(tmp_path), [{"what": "intent", "seq": seq} for seq in (1, 2)]
    with monkeypatch.context() as full:
        fill(full, 50)  # the first line and a part of the second
        with pytest.raises(JournalBroken):
            journal.intend(meant)

    journal.intend(meant)

    assert [line["seq"] for line in lines(tmp_path)] == [1, 2]


def test_a_sync_that_fails_is_a_broken_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(file: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(module.os, "fdatasync", lost)

    with pytest.raises(JournalBroken, match="Input/output error"):
        Journal(tmp_path).intend([{"what": "intent"}])


def test_half_a_line_that_a_crash_left_is_cut_off(tmp_path: Path) -> None:
    Journal(tmp_path).intend([{"what": "intent"}])
    with (tmp_path / "journal.jsonl").open("a") as file:
        file.write('{"line":2,"wha')

    Journal(tmp_path).note([{"what": "ack"}])

    assert [(line["line"], line["what"]) for line in lines(tmp_path)] == [(1, "intent"), (2, "ack")]


def test_a_full_file_is_turned_over_and_one_older_is_kept(tmp_path: Path) -> None:
    journal = Journal(tmp_path, turn_bytes=100)

    for number in range(20):
        journal.note([{"what": "ack", "number": number}])

    kept = [line["number"] for name in ("journal.1.jsonl", "journal.jsonl") for line in lines(tmp_path, name)]
    assert kept == list(range(kept[0], 20))
    assert (tmp_path / "journal.jsonl").stat().st_size < 200
    assert [line["line"] for line in lines(tmp_path)][-1] == 20


def test_a_folder_that_cannot_be_made_is_a_broken_journal(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file in the way")

    with pytest.raises(JournalBroken):
        Journal(tmp_path / "state").note([{"what": "ack"}])


def test_a_journal_that_is_closed_opens_again_for_a_late_line(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.note([{"what": "ack"}])
    journal.close()

    journal.note([{"what": "lead_lost"}])

    assert len(lines(tmp_path)) == 2


def test_what_is_not_known_is_nil_and_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    journal = Journal(tmp_path)

    journal.note([{"what": "é", "unknown": float("nan"), "watts": np.float64(1.5), "name": np.str_("a")}])
    journal.note(
        [
            {
                "what": "ack",
                "whole": np.int64(7),
                "half": np.float32(0.5),
                "bare": [np.bool_(True), np.uint8(3)],
            }
        ]
    )

    first, second = lines(tmp_path)
    assert first == {"line": 1, "what": "é", "unknown": None, "watts": 1.5, "name": "a"}
    assert second == {"line": 2, "what": "ack", "whole": 7, "half": 0.5, "bare": [True, 3]}


UNWRITABLE: list[dict[Any, Any]] = [
    {"what": object()}, {"what": "intent", "node": "a\ud800"}, {"what": "intent", None: 1.0},
    {"what": "intent", "limits_w": {None: 1.0}}, {"what": "intent", "of": 1j}, {"node": object()},
]  # fmt: skip


@pytest.mark.parametrize("bad", UNWRITABLE)
def test_a_line_that_cannot_be_written_is_told_in_its_place_and_costs_no_other(
    tmp_path: Path, bad: dict[Any, Any]
) -> None:
    journal = Journal(tmp_path)

    journal.intend([{"what": "first"}, {**bad, "epoch": 3}, {"what": "last"}])

    before, told, after = lines(tmp_path)
    assert (before["what"], after["what"]) == ("first", "last")
    assert (told["line"], told["what"], told["epoch"]) == (2, "unwritable", 3)
    assert told["reason"]
    assert told.get("was") in (None, bad.get("what"))
