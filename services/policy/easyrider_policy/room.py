"""Documents that one message has room for: of a large site some rows stay out, and the document says how many."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

LARGEST_BODY = 850 * 1024
"""Bytes that an answer may have."""
STATE_SHARES = {"domains": 0.55, "nodes": 0.25, "jobs": 1.0}
"""Of what the state has room for, the most that each list may take; the last has what is left, and boards after it."""
_SPARE = 4096
"""For what is not counted: names of lists, how many rows are missing."""


def cut(document: Mapping[str, Any], shares: Mapping[str, float], room: int) -> tuple[bytes, dict[str, int]]:
    """The document in JSON with its brace left open, and how many rows of each list stayed out: the last ones."""
    rest = msgspec.json.encode({name: value for name, value in document.items() if name not in shares})[:-1]
    missing: dict[str, int] = {}
    pieces, whole = [rest], room - _SPARE - len(rest)
    left = whole
    for name, share in shares.items():
        piece, kept = _fitting(document[name], min(left, int(whole * share)))
        if kept < len(document[name]):
            missing[name] = len(document[name]) - kept
        pieces.append(b'"%b":%b' % (name.encode(), piece))
        left -= len(piece)
    return b",".join(pieces), missing


def _fitting(rows: Sequence[Any], room: int) -> tuple[bytes, int]:
    """As many of the first rows as have room, in JSON."""
    kept = len(rows)
    while len(piece := msgspec.json.encode(rows[:kept])) > room and kept:
        kept = min(kept - 1, max(0, int(kept * 0.98 * room / len(piece))))
    return piece, kept
