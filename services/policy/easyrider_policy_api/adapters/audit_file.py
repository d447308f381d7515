"""The audit journal read back, newest first; an intent and its end are one record."""

import json
from pathlib import Path
from typing import Any

from easyrider.moments import rfc_3339

_SHOWN = (
    "id", "act", "path", "who", "token", "role", "peer", "reason", "before", "after"
)  # fmt: skip


def newest_first(path: Path, limit: int, before: int | None) -> tuple[list[dict[str, Any]], int | None]:
    """At most `limit` records whose line is below `before`, and the line to go on from; None at the end.

    Reads the file in force and the one before it; a line that cannot be read is left out.
    """
    ends: dict[str, dict[str, Any]] = {}
    begun: dict[str, dict[str, Any]] = {}
    for file in (path.with_suffix(".1.jsonl"), path):
        for line in _lines(file):
            (begun if line.get("what") == "intent" else ends)[str(line["id"])] = line
    found = [_record(line) for line in ends.values()]
    found += [_record(line) for key, line in begun.items() if key not in ends]
    found.sort(key=lambda record: -int(record["line"]))
    if before is not None:
        found = [record for record in found if record["line"] < before]
    return found[:limit], found[limit - 1]["line"] if len(found) > limit else None


def _lines(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    found = []
    for text in file.read_text(errors="replace").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue  # the last one, half written
        if isinstance(line, dict) and "id" in line and isinstance(line.get("line"), int):
            found.append(line)
    return found


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
