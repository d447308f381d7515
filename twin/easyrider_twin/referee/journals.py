"""What guardians say of their writes (`writes.jsonl`), matched to what the boards remember."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOLERANCE_NS = 250_000_000
"""A guardian stamps its line beside the call, the library inside it."""
ROUNDING_MW = 1
REMEMBERED_NS = 120_000_000_000
"""Lines that no write has claimed are kept for so long."""
PATIENCE_NS = 1_000_000_000
"""A guardian tells before it writes; one that tells so long after the write is not believed."""
NO_COMMANDS = frozenset({"dead_man_1", "dead_man_2", "restore", "exit", "repair"})
"""Causes that need no lease: a guardian's own. Any other word is held to be a command."""


@dataclass(frozen=True, slots=True)
class Line:
    """One write as its guardian tells it."""

    stamp_ns: int
    uuid: str
    cause: str
    requested_mw: int
    mint_ns: int | None
    ttl_s: float | None

    def late_by_s(self, written_ns: int) -> float | None:
        """How long after its lease a command was written; None if it was not late or no command.

        A command that names no mint, or one after its write, cannot be shown to be in time.
        """
        if self.cause in NO_COMMANDS:
            return None
        if self.mint_ns is None or self.ttl_s is None or self.mint_ns > written_ns:
            return float("inf")
        late_s = (written_ns - self.mint_ns) / 1e9 - self.ttl_s
        return late_s if late_s > 0 else None


class Tail:
    """New whole lines of a growing file of JSON objects; a file that is not there yet has none.

    A file that was renamed to `.1` and begun anew is read to its end first; one that was cut is read again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.malformed = 0
        self._at, self._rest, self._inode = 0, b"", 0

    def read(self) -> list[dict[str, Any]]:
        """What was added since the last look."""
        if not self.path.exists():
            return []
        found: list[dict[str, Any]] = []
        status = self.path.stat()
        inode = status.st_ino
        if inode == self._inode and status.st_size < self._at:
            self._at, self._rest = 0, b""
        if self._inode not in (0, inode):
            rotated = self.path.with_name(self.path.name + ".1")
            if rotated.exists() and rotated.stat().st_ino == self._inode:
                found += self._rest_of(rotated)
            self._at, self._rest = 0, b""
        self._inode = inode
        return found + self._rest_of(self.path)

    def _rest_of(self, path: Path) -> list[dict[str, Any]]:
        with path.open("rb") as file:
            file.seek(self._at)
            added = file.read()
        self._at += len(added)
        *lines, self._rest = (self._rest + added).split(b"\n")
        found = []
        for line in lines:
            try:
                value = json.loads(line)
            except ValueError:
                value = None
            if isinstance(value, dict):
                found.append(value)
            elif line.strip():
                self.malformed += 1
        return found


class Journal:
    """The lines of one guardian that no write has claimed yet."""

    def __init__(self, path: Path) -> None:
        self._tail = Tail(path)
        self._lines: list[Line] = []

    @property
    def malformed(self) -> int:
        """Lines that could not be read."""
        return self._tail.malformed

    def read(self) -> None:
        """Take in new lines."""
        for value in self._tail.read():
            try:
                self._lines.append(_line(value))
            except (KeyError, TypeError, ValueError):
                self._tail.malformed += 1

    def claim(self, stamp_ns: int, uuid: str, requested_w: float, *, near: bool = True) -> Line | None:
        """The line nearest in time that tells of this write; it is told only once.

        Not `near`: a line of any age before it, as a guardian leaves that froze between line and write.
        """
        requested_mw = round(requested_w * 1000)
        fitting = [
            line
            for line in self._lines
            if line.uuid == uuid
            and abs(line.requested_mw - requested_mw) <= ROUNDING_MW
            and (abs(line.stamp_ns - stamp_ns) <= TOLERANCE_NS if near else line.stamp_ns <= stamp_ns)
        ]
        if not fitting:
            return None
        best = min(fitting, key=lambda line: abs(line.stamp_ns - stamp_ns))
        self._lines.remove(best)
        return best

    def forget(self, before_ns: int) -> None:
        """Drop lines too old to be claimed."""
        self._lines = [line for line in self._lines if line.stamp_ns >= before_ns]


def _line(value: dict[str, Any]) -> Line:
    return Line(
        stamp_ns=int(value["stamp_ns"]),
        uuid=str(value["uuid"]),
        cause=str(value["cause"]),
        requested_mw=round(float(value["requested_w"]) * 1000),
        mint_ns=None if value.get("mint_ns") is None else int(value["mint_ns"]),
        ttl_s=None if value.get("ttl_s") is None else float(value["ttl_s"]),
    )
