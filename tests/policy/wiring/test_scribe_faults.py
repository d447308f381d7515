"""Lines that no journal can hold and writes that end by a fault of ours: nobody waits for ever, nothing rises."""

import asyncio
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from easyrider.journal import Entry, Journal
from easyrider_policy.scribe import AGAIN_S, Scribe

FAULT_OF_OURS = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


class Faulty(Journal):
    """Raises what no journal may, as long as `fault` says one."""

    fault: Exception | None = None

    def _write(self, entries: Sequence[Entry], durable: bool) -> None:
        if self.fault is not None:
            raise self.fault
        super()._write(entries, durable)


def whats(folder: Path) -> list[Any]:
    return [json.loads(line)["what"] for line in (folder / "journal.jsonl").read_text().splitlines()]


async def until_whole(scribe: Scribe, now_s: float) -> None:
    async with asyncio.timeout(5.0):
        while not scribe.whole:
            now_s += AGAIN_S
            await scribe.write(now_s)
            await asyncio.sleep(0.001)


@pytest.mark.parametrize("bad", [{None: 1}, {"name": "\ud800"}, {"of": object()}, {"seq": np.int64(4)}])
async def test_after_a_line_that_cannot_be_written_the_journal_still_takes_lines(
    tmp_path: Path, bad: dict[Any, Any]
) -> None:
    scribe = Scribe(Journal(tmp_path), lambda: 7)
    scribe.note({"what": "ack", **bad})
    scribe.promise({"what": "intent"})

    assert await scribe.write(1.0)
    scribe.note({"what": "after"})
    assert await scribe.write(2.0)

    assert whats(tmp_path) == ["ack" if "seq" in bad else "unwritable", "intent", "after"]


@FAULT_OF_OURS
@pytest.mark.parametrize("fault", [ValueError("no such thing"), MemoryError()])
async def test_a_write_that_ends_by_a_fault_is_a_broken_journal_that_is_tried_again(
    tmp_path: Path, fault: Exception
) -> None:
    journal = Faulty(tmp_path)
    scribe = Scribe(journal, lambda: 7)
    journal.fault = fault
    scribe.promise({"what": "intent"})

    assert not await scribe.write(1.0)
    assert not scribe.whole
    journal.fault = None
    await until_whole(scribe, 1.0)

    assert whats(tmp_path) == ["intent", "journal_back"]


async def test_a_machine_without_a_thread_left_is_a_broken_journal_that_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scribe = Scribe(Journal(tmp_path), lambda: 7)
    scribe.promise({"what": "intent"})

    def none_left(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as crowded:
        crowded.setattr(threading.Thread, "start", none_left)
        assert not await scribe.write(1.0)

    await until_whole(scribe, 1.0)

    assert whats(tmp_path) == ["intent", "journal_back"]
