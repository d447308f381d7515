"""Which file a message belongs in: a folder a region, a file an hour of Unix time, numbered within the hour."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from easyrider.subjects import BadToken, token

SUFFIX, INDEX_SUFFIX = ".errec", ".eridx"
ELSEWHERE = "_"
"""Folder of what names no region, or one that can be none."""
_NAME = re.compile(r"(\d{8}T\d{2})Z-(\d{3,})" + re.escape(SUFFIX))
_REGION_LAST = ("event", "demand")
"""Kinds whose subject names something else before the region."""


def region_of(subject: str) -> str:
    """The region that a subject is about. It names a folder, and a bus takes names that lead out of it."""
    words = subject.split(".")
    place = 4 if len(words) > 2 and words[2] in _REGION_LAST else 3
    try:
        return token(words[place]) if len(words) > place else ELSEWHERE
    except BadToken:
        return ELSEWHERE


def hour_of(unix_ns: int) -> str:
    """The hour, as files are named by it."""
    return datetime.fromtimestamp(unix_ns // 1_000_000_000, UTC).strftime("%Y%m%dT%H")


def file_name(hour: str, taken: Iterable[str]) -> str:
    """A name for a new file of this hour that none of `taken` has."""
    numbers = [int(found[2]) for name in taken if (found := _NAME.fullmatch(name)) and found[1] == hour]
    return f"{hour}Z-{max(numbers, default=-1) + 1:03d}{SUFFIX}"


def is_recording(name: str) -> bool:
    """Whether a file is one of ours."""
    return _NAME.fullmatch(name) is not None


def to_forget(sizes: dict[str, int], keep_bytes: int, in_use: Iterable[str]) -> list[str]:
    """Which files to remove, oldest first, so that the rest fits; those in use stay. Keys sort by age."""
    total, kept, gone = sum(sizes.values()), set(in_use), []
    for name in sorted(sizes):
        if total <= keep_bytes:
            break
        if name not in kept:
            gone.append(name)
            total -= sizes[name]
    return gone
