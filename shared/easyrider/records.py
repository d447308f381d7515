"""Plain data to frozen records and back, every fault collected with the place where it stands."""

import dataclasses
import math
import types
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

R = TypeVar("R")
KEYS = {"node_class": "class"}
"""Fields whose name in a document is a word that Python keeps for itself."""
LATER = {"later": True}
"""Metadata of a field that came later: left out of a document while it says nothing, so that versions of the
program before it can still read what is kept."""
LARGEST = 2**63 - 1
"""Whole numbers beyond it fit no message and no store."""


class Faults(list[str]):
    """What is wrong, as "place: fault"."""

    def add(self, place: str, fault: str) -> None:
        """One more."""
        self.append(f"{place or 'document'} {fault}")


class _Wrong:
    """Stands for a value that a fault was told about."""


_WRONG = _Wrong()


def read_record(kind: type[R], value: Any, place: str, faults: Faults, *, partly: bool = False) -> R | None:
    """The record in a map, or None after a fault was added; unknown keys are faults.

    `partly`: give what can be read although faults were added, so that what hangs together can be checked in the
    same go; rows with a fault of their own are left out.
    """
    if not isinstance(value, dict):
        faults.add(place, f"is {_said(value)} where a map is expected")
        return None
    hints = get_type_hints(kind)
    fields = {KEYS.get(f.name, f.name): f for f in dataclasses.fields(cast(Any, kind))}
    before = len(faults)
    for key in value:
        if key not in fields:
            faults.add(_at(place, key), f"is not a key here ({', '.join(fields)})")
    found: dict[str, Any] = {}
    for key, field in fields.items():
        if key in value:
            part = _read(hints[field.name], value[key], _at(place, key), faults)
            if part is not _WRONG:
                found[field.name] = part
        elif not _has_default(field):
            faults.add(_at(place, key), "is missing")
    if len(faults) > before and not partly:
        return None
    return kind(**found) if all(f.name in found or _has_default(f) for f in fields.values()) else None


def write_record(record: Any) -> Any:
    """Maps and lists that `read_record` turns into the same record; what is None is left out."""
    if dataclasses.is_dataclass(record):
        fields = dataclasses.fields(record)
        pairs = ((f.name, getattr(record, f.name)) for f in fields if not _unsaid(f, record))
        return {KEYS.get(name, name): write_record(value) for name, value in pairs if value is not None}
    if isinstance(record, dict):
        return {key: write_record(value) for key, value in record.items()}
    if isinstance(record, tuple | list):
        return [write_record(value) for value in record]
    return record


def _read(hint: Any, value: Any, place: str, faults: Faults) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        inner = [part for part in arguments if part is not type(None)]
        if len(inner) == 1:
            return _read(inner[0], value, place, faults)
        return _read_either(inner, value, place, faults)
    if origin is Literal:
        if isinstance(value, str | int) and not isinstance(value, bool) and value in arguments:
            return value
        faults.add(place, f"is {_said(value)}, not one of {', '.join(map(str, arguments))}")
        return _WRONG
    if origin is tuple:
        return _read_rows(arguments[0], value, place, faults)
    if origin is dict:
        return _read_named(arguments[1], value, place, faults)
    if dataclasses.is_dataclass(hint):
        record = read_record(cast(type[Any], hint), value, place, faults)
        return _WRONG if record is None else record
    return _read_scalar(hint, value, place, faults)


def _read_either(kinds: list[Any], value: Any, place: str, faults: Faults) -> Any:
    """A list or a map, whichever it is, where either may stand."""
    by_shape = {list if get_origin(kind) is tuple else dict: kind for kind in kinds}
    for shape, kind in by_shape.items():
        if isinstance(value, shape):
            return _read(kind, value, place, faults)
    faults.add(place, f"is {_said(value)} where a list or a map is expected")
    return _WRONG


def _read_rows(inner: Any, value: Any, place: str, faults: Faults) -> Any:
    if not isinstance(value, list):
        faults.add(place, f"is {_said(value)} where a list is expected")
        return _WRONG
    rows = []
    for index, row in enumerate(value):
        rows.append(_read(inner, row, f"{place}[{_row_name(row, index)}]", faults))
    return tuple(row for row in rows if row is not _WRONG)


def _row_name(row: Any, index: int) -> str | int:
    names = (row.get("id"), row.get("name")) if isinstance(row, dict) else ()
    return next((name for name in names if isinstance(name, str)), index)


def _read_named(inner: Any, value: Any, place: str, faults: Faults) -> Any:
    if not isinstance(value, dict):
        faults.add(place, f"is {_said(value)} where a map is expected")
        return _WRONG
    read = {str(key): _read(inner, part, _at(place, key), faults) for key, part in value.items()}
    return {key: part for key, part in read.items() if part is not _WRONG}


def _read_scalar(hint: Any, value: Any, place: str, faults: Faults) -> Any:
    if hint is bool and isinstance(value, bool):
        return value
    if hint is str and isinstance(value, str):
        return value
    if isinstance(value, int) and not -LARGEST - 1 <= value <= LARGEST:
        faults.add(place, f"is {_said(value)}, beyond {LARGEST} (2^63 - 1) either way")
        return _WRONG
    if hint is int and isinstance(value, int) and not isinstance(value, bool):
        return value
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        if math.isfinite(value):
            return float(value)
        faults.add(place, f"is {value}, not a finite number")
        return _WRONG
    expected = {bool: "true or false", str: "text", int: "a whole number", float: "a number"}[hint]
    faults.add(place, f"is {_said(value)} where {expected} is expected")
    return _WRONG


def _has_default(field: Any) -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def _unsaid(field: Any, record: Any) -> bool:
    return bool(field.metadata.get("later")) and getattr(record, field.name) == field.default


def _at(place: str, key: object) -> str:
    return f"{place}.{key}" if place else str(key)


def _said(value: object) -> str:
    if value is None:
        return "empty"
    try:
        text = repr(value)
    except ValueError:  # Python prints no whole number of thousands of digits
        return "too long to print"
    return text if len(text) <= 40 else f"{text[:37]}..."
