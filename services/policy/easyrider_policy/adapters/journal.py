"""The coordinator's own record of what it meant to do and what came of it, on its own disk."""

import json
import os
from pathlib import Path
from typing import IO

from easyrider.errors import EasyRiderError


class JournalBroken(EasyRiderError):
    """An intent could not be made durable; lowering goes on, no limit is raised until it can be."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path} cannot be written ({reason}); limits are lowered only, free the disk")


class Journal:
    """Append-only JSON lines, numbered. An intent is on the disk before `intend` returns.

    The file is turned over at `turn_bytes`; one older file is kept.
    """

    def __init__(self, folder: Path, turn_bytes: int = 64 * 1024 * 1024) -> None:
        self._path, self._turn_bytes = folder / "journal.jsonl", turn_bytes
        self._file: IO[str] | None = None
        self._line = 0

    def intend(self, entries: list[dict[str, object]]) -> None:
        """Write what is about to be done. Raises `JournalBroken`."""
        self._write(entries, durable=True)

    def note(self, entries: list[dict[str, object]]) -> None:
        """Write what happened; durable with the next intent. Raises `JournalBroken`."""
        self._write(entries, durable=False)

    def close(self) -> None:
        """Flush and let go."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, entries: list[dict[str, object]], durable: bool) -> None:
        if not entries:
            return
        try:
            file = self._open()
            for entry in entries:
                self._line += 1
                file.write(json.dumps({"line": self._line, **entry}, separators=(",", ":")) + "\n")
            file.flush()
            if durable:
                os.fdatasync(file.fileno())
        except OSError as fault:
            self._file = None
            raise JournalBroken(self._path, fault.strerror or str(fault)) from fault

    def _open(self) -> IO[str]:
        if self._file is not None and self._file.tell() < self._turn_bytes:
            return self._file
        if self._file is not None:
            self._file.close()
            self._path.replace(self._path.with_suffix(".1.jsonl"))
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._path.open("a", encoding="utf-8")
        return self._file
