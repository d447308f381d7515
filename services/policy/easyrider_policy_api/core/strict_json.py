"""JSON read without mercy: no key twice, no number that is none, no text that cannot be said again."""

import json
import math
from collections.abc import Iterator
from typing import Any

from easyrider.errors import EasyRiderError

DEEPEST = 32
DIGITS = 19
"""Whole numbers beyond these many digits fit nothing of ours."""


class BadDocument(EasyRiderError):
    """The body is no JSON of ours; `faults` are pairs of field and fault."""

    def __init__(self, faults: list[tuple[str, str]]) -> None:
        self.faults = faults
        super().__init__("; ".join(f"{field or 'document'} {fault}" for field, fault in faults))


class _Twice(dict[str, Any]):
    """A map in whose text a key stood twice."""

    def __init__(self, pairs: list[tuple[str, Any]], twice: str) -> None:
        super().__init__(pairs)
        self.twice = twice


class _Huge:
    """A whole number of too many digits."""


def parse(body: bytes) -> Any:
    """The document. Raises `BadDocument` with every fault and the field where it stands."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise BadDocument([("", f"is not UTF-8 at byte {fault.start}")]) from fault
    try:
        document = json.loads(text, object_pairs_hook=_pairs, parse_int=_whole)
    except json.JSONDecodeError as fault:
        raise BadDocument(
            [("", f"is no JSON: {fault.msg} at line {fault.lineno} column {fault.colno}")]
        ) from fault
    except RecursionError as fault:
        raise BadDocument([("", f"is nested deeper than {DEEPEST}")]) from fault
    faults = list(_faults(document, "", 0))
    if faults:
        raise BadDocument(faults[:20])
    return document


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    seen: set[str] = set()
    twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    return _Twice(pairs, twice)


def _whole(digits: str) -> Any:
    return int(digits) if len(digits) <= DIGITS else _Huge()


def _faults(value: Any, place: str, depth: int) -> Iterator[tuple[str, str]]:
    if depth > DEEPEST:
        yield place, f"is nested deeper than {DEEPEST}"
    elif isinstance(value, dict):
        if isinstance(value, _Twice):
            yield f"{place}.{_sayable(value.twice)}".lstrip("."), "stands twice"
        for key, part in value.items():
            if not _is_sayable(key):
                yield place, "has a key that is no Unicode text"
            else:
                yield from _faults(part, f"{place}.{key[:64]}" if place else key[:64], depth + 1)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _faults(part, f"{place}[{index}]", depth + 1)
    elif isinstance(value, _Huge):
        yield place, f"is a whole number of more than {DIGITS} digits"
    elif isinstance(value, float) and not math.isfinite(value):
        yield place, "is no finite number"
    elif isinstance(value, str) and not _is_sayable(value):
        yield place, "is no Unicode text"


def _is_sayable(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text)


def _sayable(text: str) -> str:
    return text[:64] if _is_sayable(text) else "?"
