"""A service's own record of what it meant to do and what came of it, on its own disk."""

import json
import numbers
import os
import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec

from easyrider.errors import EasyRiderError

Entry = dict[str, object]


def _plain(value: object) -> object:
    """A number or word of a library's own kind, as numpy hands them out."""
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if isinstance(value, str):
        return str(value)
    if type(value).__name__ in ("bool", "bool_"):  # numpy's own, of no kind of number
        return bool(value)
    raise TypeError(f"{type(value).__name__} is nothing that a journal can hold")


_LINES = msgspec.json.Encoder(enc_hook=_plain)
_UNFIT = (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError)
"""What an encoder says of what it cannot write: a foreign kind, half a character, a number too large, a loop."""
_TAIL_BYTES = 64 * 1024
CLOSE_S = 1.0


class JournalBroken(EasyRiderError):
    """An intent could not be made durable; the coordinator lowers only and the admin API refuses, until it can be."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path} cannot be written ({reason}); limits are lowered only, free the disk")


class Journal:
    """Append-only JSON lines, numbered on from the line before, restarts included. A failed write leaves no part.

    `intend` returns once its lines are on the disk. The file is turned over at `turn_bytes`; one older file is
    kept. May be called from any thread, one call at a time. An entry that cannot be written costs no other: a line
    `unwritable` stands in its place, with what of it could be and the fault.
    """

    def __init__(self, folder: Path, turn_bytes: int = 64 * 1024 * 1024) -> None:
        self.path, self._turn_bytes = folder / "journal.jsonl", turn_bytes
        self._lock = threading.Lock()
        self._file: int | None = None
        self._size = self._line = 0

    def intend(self, entries: Sequence[Entry]) -> None:
        """Write what is about to be done. Raises `JournalBroken`."""
        self._write(entries, durable=True)

    def note(self, entries: Sequence[Entry]) -> None:
        """Write what happened; durable with the next intent. Raises `JournalBroken`."""
        self._write(entries, durable=False)

    def close(self) -> None:
        """Let go. A write that hangs in a dead disk is left to itself after a moment."""
        if self._lock.acquire(timeout=CLOSE_S):
            try:
                self._let_go()
            finally:
                self._lock.release()

    def _write(self, entries: Sequence[Entry], durable: bool) -> None:
        if not entries:
            return
        with self._lock:
            try:
                file = self._open()
                numbered = [{"line": number, **entry} for number, entry in enumerate(entries, self._line + 1)]
                self._append(file, _encoded(numbered))
                if durable:
                    os.fdatasync(file)
            except OSError as fault:
                self._let_go()
                raise JournalBroken(self.path, fault.strerror or str(fault)) from fault
            self._line += len(entries)

    def _append(self, file: int, data: bytes) -> None:
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(file, left) :]
        except OSError:
            os.ftruncate(file, self._size)  # half a line would swallow the next one
            raise
        self._size += len(data)

    def _open(self) -> int:
        if self._file is not None and self._size < self._turn_bytes:
            return self._file
        if self._file is not None:
            self._let_go()
            self.path.replace(self.path.with_suffix(".1.jsonl"))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)
        self._size = _whole_lines(self._file)
        self._line = max(self._line, _last_line(self._file, self._size))
        _keep_name(self.path.parent)
        return self._file

    def _let_go(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)


def _encoded(entries: Sequence[Entry]) -> bytes:
    try:
        return _LINES.encode_lines(entries)
    except _UNFIT:  # one of them: the others are no worse for it
        return b"".join(_line(entry) for entry in entries)


def _line(entry: Entry) -> bytes:
    try:
        return _LINES.encode(entry) + b"\n"
    except _UNFIT as fault:
        fit = {name: value for name, value in entry.items() if name != "what" and _fits(name, value)}
        was = {"was": entry["what"]} if "what" in entry and _fits("what", entry["what"]) else {}
        return _LINES.encode({**fit, "what": "unwritable", **was, "reason": ascii(str(fault))}) + b"\n"


def _fits(name: object, value: object) -> bool:
    """Whether this field can be written by itself."""
    try:
        _LINES.encode({name: value})
    except _UNFIT:
        return False
    return isinstance(name, str)


def _whole_lines(file: int) -> int:
    """Bytes up to the end of the last whole line; half a line that a crash left is cut off."""
    size = os.fstat(file).st_size
    start = max(0, size - _TAIL_BYTES)
    end = start + os.pread(file, size - start, start).rfind(b"\n") + 1
    if size and end < size:
        os.ftruncate(file, end)
    return end


def _last_line(file: int, size: int) -> int:
    """Number of the last line, 0 where there is none or it cannot be read."""
    start = max(0, size - _TAIL_BYTES)
    lines = os.pread(file, size - start, start).splitlines()
    if not lines:
        return 0
    try:
        number = json.loads(lines[-1])["line"]
    except (ValueError, KeyError, TypeError):
        return 0
    return number if isinstance(number, int) else 0


def _keep_name(folder: Path) -> None:
    """A new file's name must be on the disk as well as its lines."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
