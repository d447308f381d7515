"""Numbers that drivers write where they know nothing, per type; looked up before units change."""

import math
from typing import Literal

Kind = Literal["double", "uint", "ulonglong", "longlong", "int", "ushort"]

# DCGM writes four markers in a row: blank, not found, not supported, not permitted
_DCGM_INT32 = range(0x7FFFFFF0, 0x7FFFFFF4)
_DCGM_INT64 = range(0x7FFFFFFFFFFFFFF0, 0x7FFFFFFFFFFFFFF4)
_DCGM_DOUBLE = 140737488355328.0
# NVML writes -1 in the type at hand
_NOT_AVAILABLE: dict[Kind, int] = {"uint": 0xFFFFFFFF, "ulonglong": 0xFFFFFFFFFFFFFFFF, "ushort": 0xFFFF}


def is_blank(value: float, kind: Kind) -> bool:
    """True where `value`, as the driver gave it in a field of type `kind`, says "I do not know"."""
    if kind == "double":
        return math.isnan(value) or math.isinf(value) or _DCGM_DOUBLE <= value <= _DCGM_DOUBLE + 3
    if value == _NOT_AVAILABLE.get(kind):
        return True
    if kind in ("ulonglong", "longlong"):
        return value in _DCGM_INT64
    return value in _DCGM_INT32
