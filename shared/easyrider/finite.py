"""No number in a message is NaN or infinite: checked field by field, without building anything.

A number that its type bounds on both sides was compared when it was decoded, and NaN and infinity fail there: of a
message just decoded only the other numbers are left to look at, and in most records there are none.
"""

import math
import types
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from easyrider.errors import NotFinite

_Names = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]
_shapes: dict[tuple[type[Any], bool], _Names] = {}


def refuse_unfinite(record: Any, place: str = "$", *, decoded: bool = False) -> None:
    """Raises `NotFinite` with the place of the first number in a message that is NaN or infinite.

    `decoded`: it comes from a typed decoder, which has refused them in every bounded field.
    """
    numbers, parts, rows, columns = _shape(type(record), decoded)
    for name in numbers:
        value = getattr(record, name)
        if value is not None and not math.isfinite(value):
            raise NotFinite(f"{place}.{name} is {value}")
    for name in parts:
        value = getattr(record, name)
        if value is not None:
            refuse_unfinite(value, f"{place}.{name}", decoded=decoded)
    for name in rows:
        for index, row in enumerate(getattr(record, name)):
            refuse_unfinite(row, f"{place}.{name}[{index}]", decoded=decoded)
    for name in columns:
        for index, value in enumerate(getattr(record, name)):
            if not math.isfinite(value):
                raise NotFinite(f"{place}.{name}[{index}] is {value}")


def _shape(kind: type[Any], decoded: bool) -> _Names:
    """Names of the fields that hold a float, a record, many records, many floats, as far as they need a look."""
    if (kind, decoded) not in _shapes:
        _shapes[kind, decoded] = _shape_of(kind, decoded)
    return _shapes[kind, decoded]


def _shape_of(kind: type[Any], decoded: bool) -> _Names:
    found: tuple[list[str], list[str], list[str], list[str]] = ([], [], [], [])
    for name, hint in get_type_hints(kind, include_extras=True).items():
        core, many = _core(hint), False
        if get_origin(core) is tuple:
            hint = get_args(core)[0]
            core, many = _core(hint), True
        if core is float:
            if not (decoded and _is_bounded(hint)):
                found[3 if many else 0].append(name)
        elif isinstance(core, type) and issubclass(core, msgspec.Struct) and any(_shape(core, decoded)):
            found[2 if many else 1].append(name)
    return tuple(found[0]), tuple(found[1]), tuple(found[2]), tuple(found[3])


def _is_bounded(hint: Any) -> bool:
    """Whether the number's type has a least and a greatest value."""
    if get_origin(hint) is Annotated:
        metas = [meta for meta in get_args(hint)[1:] if isinstance(meta, msgspec.Meta)]
        least = any(meta.ge is not None or meta.gt is not None for meta in metas)
        return least and any(meta.le is not None or meta.lt is not None for meta in metas)
    if get_origin(hint) in (Union, types.UnionType):
        return all(_is_bounded(part) for part in get_args(hint) if part is not type(None))
    return False


def _core(hint: Any) -> Any:
    if get_origin(hint) is Annotated:
        return _core(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        inner = [part for part in get_args(hint) if part is not type(None)]
        return _core(inner[0]) if len(inner) == 1 else hint
    return hint
