"""No number in a message is NaN or infinite: checked field by field, without building anything."""

import math
import types
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from easyrider.errors import NotFinite

_Names = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]
_shapes: dict[type[Any], _Names] = {}


def refuse_unfinite(record: Any, place: str = "$") -> None:
    """Raises `NotFinite` with the place of the first number in a message that is NaN or infinite."""
    numbers, parts, rows, columns = _shape(type(record))
    for name in numbers:
        value = getattr(record, name)
        if value is not None and not math.isfinite(value):
            raise NotFinite(f"{place}.{name} is {value}")
    for name in parts:
        value = getattr(record, name)
        if value is not None:
            refuse_unfinite(value, f"{place}.{name}")
    for name in rows:
        for index, row in enumerate(getattr(record, name)):
            refuse_unfinite(row, f"{place}.{name}[{index}]")
    for name in columns:
        for index, value in enumerate(getattr(record, name)):
            if not math.isfinite(value):
                raise NotFinite(f"{place}.{name}[{index}] is {value}")


def _shape(kind: type[Any]) -> _Names:
    """Names of the fields that hold a float, a record, many records, many floats."""
    if kind not in _shapes:
        _shapes[kind] = _shape_of(kind)
    return _shapes[kind]


def _shape_of(kind: type[Any]) -> _Names:
    found: tuple[list[str], list[str], list[str], list[str]] = ([], [], [], [])
    for name, hint in get_type_hints(kind, include_extras=True).items():
        core, many = _core(hint), False
        if get_origin(core) is tuple:
            core, many = _core(get_args(core)[0]), True
        if core is float:
            found[3 if many else 0].append(name)
        elif isinstance(core, type) and issubclass(core, msgspec.Struct):
            found[2 if many else 1].append(name)
    return tuple(found[0]), tuple(found[1]), tuple(found[2]), tuple(found[3])


def _core(hint: Any) -> Any:
    if get_origin(hint) is Annotated:
        return _core(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        inner = [part for part in get_args(hint) if part is not type(None)]
        return _core(inner[0]) if len(inner) == 1 else hint
    return hint
