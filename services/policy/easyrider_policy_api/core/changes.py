"""What an edit changed, small enough to be kept: the sections that differ, and in them the rows that differ."""

import json
from typing import Any

MOST_BYTES = 16_384
Pair = tuple[dict[str, Any], dict[str, Any]]


def difference(before: dict[str, Any] | None, after: dict[str, Any] | None) -> Pair:
    """What of two rules documents is not the same, in either; rows of lists by their `id`."""
    was, now = before or {}, after or {}
    found: Pair = ({}, {})
    for section in [*was, *(key for key in now if key not in was)]:
        one, other = was.get(section), now.get(section)
        if one == other:
            continue
        if isinstance(one, list) and isinstance(other, list) and _has_ids(one) and _has_ids(other):
            one, other = _rows(one, other)
        if one is not None:
            found[0][section] = one
        if other is not None:
            found[1][section] = other
    return found


def as_text(part: dict[str, Any] | None) -> str:
    """As JSON; where that is too long to keep, which sections it holds and how many rows."""
    if not part:
        return ""
    text = json.dumps(part, allow_nan=False, separators=(",", ":"))
    if len(text) <= MOST_BYTES:
        return text
    sizes = {key: len(value) if isinstance(value, list | dict) else 1 for key, value in part.items()}
    return json.dumps({"too_long": len(text), "rows": sizes}, separators=(",", ":"))


def _has_ids(rows: list[Any]) -> bool:
    return all(isinstance(row, dict) and "id" in row for row in rows)


def _rows(was: list[dict[str, Any]], now: list[dict[str, Any]]) -> tuple[list[Any], list[Any]]:
    before, after = {row["id"]: row for row in was}, {row["id"]: row for row in now}
    return (
        [row for key, row in before.items() if after.get(key) != row],
        [row for key, row in after.items() if before.get(key) != row],
    )
