"""The audit journal read back, newest first; an intent and its end are one record."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from easyrider.moments import rfc_3339

CHUNK_BYTES = 64 * 1024
MOST_BYTES = 32 * 1024 * 1024
"""Read for one page, however few of its lines are asked for."""
_SHOWN = (
    "id", "act", "path", "who", "token", "role", "peer", "reason", "before", "after"
)  # fmt: skip


def newest_first(path: Path, limit: int, before: int | None) -> tuple[list[dict[str, Any]], int | None]:
    """At most `limit` records whose line is below `before`, and the line to go on from; None at the end.

    Reads backwards from the end of the file in force into the one before it, and no further than it must; after
    `MOST_BYTES` it gives what it has. A line that cannot be read is left out.
    """
    found: list[dict[str, Any]] = []
    ended: set[str] = set()
    read_bytes, last = 0, None
    for line, size in _backwards(path, path.with_suffix(".1.jsonl")):
        read_bytes += size if found else 0
        number, identity = int(line["line"]), str(line["id"])
        intent = line.get("what") == "intent"
        if read_bytes > MOST_BYTES:
            return found, last
        told = not (intent and identity in ended)
        ended.add(identity)
        if not told or (before is not None and number >= before):
            continue
        if len(found) == limit:
            return found, last
        found.append(_record(line))
        last = number
    return found, None


def _backwards(*files: Path) -> Iterator[tuple[dict[str, Any], int]]:
    """Every line that is one of ours with its size, the last of the first file first."""
    for file in files:
        if file.exists():
            with file.open("rb") as opened:
                for text in _texts(opened):
                    try:
                        line = json.loads(text)
                    except ValueError:
                        continue  # the last one, half written
                    if isinstance(line, dict) and "id" in line and isinstance(line.get("line"), int):
                        yield line, len(text)


def _texts(opened: BinaryIO) -> Iterator[bytes]:
    at, rest = opened.seek(0, os.SEEK_END), b""
    while at > 0:
        size = min(CHUNK_BYTES, at)
        at -= size
        opened.seek(at)
        first, *others = (opened.read(size) + rest).split(b"\n")
        yield from reversed(others)
        rest = first
    yield rest


def _record(line: dict[str, Any]) -> dict[str, Any]:
    return {
        "line": line["line"],
        "time": rfc_3339(int(line.get("t_ns", 0)) / 1e9),
        **{name: str(line.get(name, "")) for name in _SHOWN},
        "result": str(line.get("result", "unknown")),
        "status": line.get("status"),
        "why": str(line.get("why", "")),
        "version": line.get("version"),
    }
