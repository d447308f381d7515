"""Moments as people write them: RFC 3339 to Unix seconds. For times of day, never for the age of anything."""

import re
from datetime import UTC, datetime

_RFC_3339 = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)",
    re.ASCII,
)


class BadMoment(ValueError):
    """A text that names no moment."""

    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__(
            f"is {text[:40]!r}, not a moment with its offset from UTC, like 2026-12-01T18:00:00+01:00 (RFC 3339)"
        )


def unix_s(text: str) -> float:
    """Unix seconds of a moment. Raises `BadMoment`; a time without an offset from UTC names none."""
    if not _RFC_3339.fullmatch(text):
        raise BadMoment(text)
    try:
        return datetime.fromisoformat(text.upper()).timestamp()
    except (ValueError, OverflowError) as fault:
        raise BadMoment(text) from fault


def rfc_3339(unix_seconds: float) -> str:
    """The moment in UTC, to the second."""
    return datetime.fromtimestamp(unix_seconds, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
