"""Edits made at a stack's own store, told on its disk before they are done: who, what was and what is."""

import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from easyrider import log
from easyrider.journal import Entry, Journal, JournalBroken
from easyrider.tree import Rules
from easyrider.tree_reader import to_document
from easyrider_cli.doors import Refused
from easyrider_policy_api.core.changes import as_text, difference

_LOG = log.get("easyrider")


class LocalAudit:
    """A journal of its own in `folder`, beside the coordinator's; commands at once take turns."""

    def __init__(self, folder: Path, who: str) -> None:
        self._folder = folder
        self._told: Entry = {"id": secrets.token_hex(8), "who": who, "act": ""}

    def intend(self, act: str, before: Rules, after: Rules) -> None:
        """On the disk before it is done. Raises `Refused`: what cannot be audited is not done."""
        was, now = difference(to_document(before), to_document(after))
        self._told = {**self._told, "id": secrets.token_hex(8), "act": act}
        try:
            self._write({"what": "intent", **self._told, "before": as_text(was), "after": as_text(now)})
        except JournalBroken as fault:
            raise Refused(
                f"the audit journal {fault.path} cannot be written ({fault.reason}), and what cannot be audited is "
                "not done: free the disk. One node can be held at its guardian: `easyrider hold --socket PATH`"
            ) from fault

    def finish(self, result: str, version: int | None = None, why: str = "") -> None:
        """What became of what was intended last."""
        try:
            self._write({"what": "result", **self._told, "result": result, "version": version, "why": why})
        except JournalBroken as fault:  # the answer stands: what was meant is on the disk already
            _LOG.error("a change's end is not in the journal", path=str(fault.path), why=fault.reason)

    def _write(self, line: Entry) -> None:
        with self._turn() as journal:
            journal.intend([{**line, "t_ns": time.time_ns()}])

    @contextmanager
    def _turn(self) -> Iterator[Journal]:
        journal = Journal(self._folder)
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            turn = os.open(self._folder / "turn", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as fault:
            raise JournalBroken(journal.path, fault.strerror or str(fault)) from fault
        try:
            fcntl.flock(turn, fcntl.LOCK_EX)
            yield journal
        finally:
            journal.close()
            os.close(turn)
