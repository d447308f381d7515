"""From register words to numbers."""

import math
import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from easyrider_infra_bridge.core.meter_spec import Register

_MOST_WORDS = 125
_NOT_IMPLEMENTED = {"uint16": 0xFFFF, "int16": -0x8000, "uint32": 0xFFFFFFFF}
_FORMS = {"float32": ">f", "uint32": ">I", "uint16": ">H", "int16": ">h"}


class Block(NamedTuple):
    """Neighbouring registers that are asked for in one request."""

    address: int
    words: int


def blocks_of(registers: Sequence[Register]) -> list[Block]:
    """As few requests as the map allows: neighbours together, a gap never read, 125 words at most."""
    blocks: list[Block] = []
    for register in sorted(registers, key=lambda r: r.address):
        end = register.address + register.words
        last = blocks[-1] if blocks else None
        if last is not None and register.address <= last.address + last.words:
            together = max(last.words, end - last.address)
            if together <= _MOST_WORDS:
                blocks[-1] = Block(last.address, together)
                continue
        blocks.append(Block(register.address, register.words))
    return blocks


def value_of(register: Register, words: Mapping[int, int]) -> float | None:
    """The number in a register; None where it says "not implemented", NaN or infinity.

    `words` holds each address's 16 bits.
    """
    raw = _raw(register, [words[register.address + k] for k in range(register.words)])
    if raw is None:
        return None
    value = raw * register.scale
    return value if math.isfinite(value) else None


def _raw(register: Register, words: Sequence[int]) -> float | None:
    ordered = words if register.word_order == "big" else list(reversed(words))
    data = b"".join(word.to_bytes(2, "big") for word in ordered)
    raw: float = struct.unpack(_FORMS[register.type], data)[0]
    if register.type == "float32":
        return raw if math.isfinite(raw) else None
    return None if raw == _NOT_IMPLEMENTED[register.type] else raw


def in_four_orders(words: Sequence[int]) -> dict[str, float]:
    """A 32-bit float read in every order there is, for a hint to whoever wrote the map."""
    high, low = (word.to_bytes(2, "big") for word in words[:2])
    orders = {
        "big": high + low,
        "little": low + high,
        "big, bytes swapped": high[::-1] + low[::-1],
        "little, bytes swapped": low[::-1] + high[::-1],
    }
    return {name: struct.unpack(">f", data)[0] for name, data in orders.items()}
