"""Moments as people write them: RFC 3339 to Unix seconds. For times of day, never for the age of anything."""

import re
from datetime import UTC, datetime, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

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


class NoZone(ValueError):
    """A name that no time zone of this machine has."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"is {name[:40]!r}, no time zone that this machine knows, like Europe/Berlin")


@cache
def zone(name: str) -> tzinfo:
    """A time zone by its IANA name. Raises `NoZone`. UTC needs no tables."""
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as fault:  # OSError: it names a folder of zones
        raise NoZone(name) from fault


def local(unix_seconds: float, zone_name: str) -> datetime:
    """The wall clock of a zone at a moment."""
    return datetime.fromtimestamp(unix_seconds, tz=zone(zone_name))
