"""Packed little-endian columns, written with the standard library alone: the node agent carries no numpy."""

import sys
from array import array
from collections.abc import Iterable

# array type codes by the wire's own names; sizes are asserted because C decides them
_CODES = {"f4": "f", "u8": "Q", "u4": "I", "u2": "H", "i2": "h", "u1": "B"}
assert all(array(code).itemsize == int(name[1]) for name, code in _CODES.items())


def pack(kind: str, values: Iterable[float]) -> bytes:
    """Bytes of a column of `kind` (f4, u8, u4, u2, i2, u1). Raises `OverflowError` where a value does not fit."""
    column = array(_CODES[kind], values)
    if sys.byteorder == "big":
        column.byteswap()
    return column.tobytes()
