"""The coordinator's journal as the front door reads it, while it is written."""

import json
from pathlib import Path
from typing import Any

from easyrider_cli.journal_count import JournalTail, counts, verified
from easyrider_cli.receipts import tell_receipts


def line(what: str, boottime_ns: int = 5, **more: Any) -> str:
    return json.dumps({"what": what, "boottime_ns": boottime_ns, **more}, separators=(",", ":")) + "\n"


def test_lines_are_counted_by_kind_from_a_moment_on(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    journal.write_text(line("ack", 1) + line("ack", 7) + line("raise_waited", 8))

    assert counts(journal, from_ns=5) == {"ack": 1, "raise_waited": 1}


def test_a_journal_that_was_turned_over_is_counted_whole(tmp_path: Path) -> None:
    (tmp_path / "journal.1.jsonl").write_text(line("ack"))
    (tmp_path / "journal.jsonl").write_text(line("ack"))

    assert counts(tmp_path / "journal.jsonl") == {"ack": 2}


def test_a_half_written_line_waits_for_its_end(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    journal.write_text(line("ack") + '{"what":"a')
    tail = JournalTail(journal)

    assert counts(journal) == {"ack": 1}
    assert [entry["what"] for entry in tail.poll()] == ["ack"]
    with journal.open("a") as file:
        file.write('ck","boottime_ns":6}\n')
    assert [entry["boottime_ns"] for entry in tail.poll()] == [6]
    assert tail.counts == {"ack": 2}


def test_a_journal_that_is_not_there_yet_holds_nothing(tmp_path: Path) -> None:
    assert counts(tmp_path / "journal.jsonl") == {}
    assert JournalTail(tmp_path / "journal.jsonl").poll() == []
    assert not verified(tmp_path / "journal.jsonl")


def test_a_new_file_after_a_turn_is_read_from_its_beginning(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    journal.write_text(line("ack") * 3)
    tail = JournalTail(journal)
    tail.poll()
    journal.rename(tmp_path / "journal.1.jsonl")
    journal.write_text(line("verified"))

    assert [entry["what"] for entry in tail.poll()] == ["verified"]
    assert verified(journal)


def test_the_referee_is_told_of_drops_and_of_nothing_else(tmp_path: Path) -> None:
    received = tmp_path / "received.jsonl"
    entries = [
        json.loads(text)
        for text in (
            line("ack", 1),
            line("limit_moved", 42, before=1.0, after=0.8),
            line("limit_moved", 99, before=0.8, after=1.0),
        )
    ]

    assert tell_receipts(entries, received) == 1
    assert tell_receipts([], received) == 0

    assert received.read_text() == '{"received_ns": 42}\n'
