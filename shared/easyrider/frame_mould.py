"""Frames read by where things stand in them: what a node always says is compared, what changes is cut out.

Frames of one length that a node sends on one boot differ in counters, stamps and columns, and each of these stands
where it stood in the frame before. So a frame that was decoded once is a mould for those after it: thousands are laid
into one array, and what they hold besides is compared with the mould, byte by byte. A frame that fits would have been
decoded to the same record; one that does not has to be.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_COUNTS = frozenset({"seq", "t_ns", "mono_ns", "rejected"})
_NUMBERS = frozenset({"cpu_pct", "net_rx_bytes_per_s", "net_tx_bytes_per_s"})
_WATTS = ("mean_w", "power_w", "mean10_w", "max10_w")
_UNSIGNED = {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8}
_BYTES, _TEXT = {0xC4: 1, 0xC5: 2}, {0xD9: 1, 0xDA: 2}
_FLOAT = 0xCB
_WORD = 8


@dataclass(frozen=True, slots=True)
class Place:
    """Where the bytes of a field stand that may differ from frame to frame."""

    name: str
    start: int
    stop: int


@dataclass(frozen=True)
class Shape:
    """Frames of one length with the same fields at the same places; a block of them has a row of bytes each."""

    length: int
    places: tuple[Place, ...]
    _at: dict[str, slice] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_at", {place.name: slice(place.start, place.stop) for place in self.places})

    @property
    def width(self) -> int:
        """Bytes of a row: as many as a frame has, and a few more, so that eight at a time can be compared."""
        return self.length + -self.length % _WORD

    @cached_property
    def fixed(self) -> Array:
        """(width / 8,) ones where all frames of a node hold the same."""
        mask = np.full(self.width, 0xFF, dtype=np.uint8)
        for place in self.places:
            mask[place.start : place.stop] = 0
        return mask.view(np.uint64)

    def block(self, frames: Sequence[bytes]) -> Array:
        """(F, width) of frames that have this length."""
        rest = bytes(self.width - self.length)
        return np.frombuffer(rest.join((*frames, b"")), dtype=np.uint8).reshape(len(frames), self.width)

    def fits(self, block: Array, moulds: Array) -> Array:
        """(F,) frames that hold what their moulds (F, width) do, and no number that a message may not hold."""
        other = (block.view(np.uint64) ^ moulds.view(np.uint64)) & self.fixed
        good: Array = np.bitwise_or.reduce(other, axis=1) == 0
        for name in _WATTS:
            finite = np.isfinite(self._column(block, name, "<f4"))
            if not finite.all():  # row by row costs ten times as much
                good &= finite.all(axis=1)
        for name in _COUNTS:
            if self._size(name) == _WORD:
                good &= block[:, self._at[name].start] < 0x80
        for name in _NUMBERS:
            if name in self._at:
                good &= np.isfinite(self._column(block, name, ">f8")[:, 0])
        return good

    def mean_w(self, block: Array) -> Array:
        """(F, boards) energy means, NaN where not valid."""
        valid = self._column(block, "mean_ok", "u1") == 0
        return np.where(valid, self._column(block, "mean_w", "<f4"), np.nan)

    def limit_w(self, block: Array) -> Array:
        """(F, boards) enforced limits, NaN where not valid."""
        valid = self._column(block, "limit_ok", "u1") == 0
        return np.where(valid, self._column(block, "limit_mw", "<u4") / 1000.0, np.nan)

    def mono_ns(self, block: Array) -> Array:
        """(F,) the node's clock as its newest row was read."""
        return self._column(block, "mono_ns", f">u{self._size('mono_ns')}")[:, 0].astype(np.int64)

    def read_ns(self, block: Array) -> Array:
        """(F,) when each row was read, by its node's clock."""
        return self.mono_ns(block) - self._column(block, "before_us", "<u4")[:, 0].astype(np.int64) * 1000

    @property
    def slow(self) -> bool:
        """Whether these frames carry the columns of once a second."""
        return self._size("slow_ok") > 0

    def reasons(self, block: Array) -> Array:
        """(F, boards) NVML's bits, 0 where not valid; of slow frames alone."""
        valid = self._column(block, "slow_ok", "u1") == 0
        return np.where(valid, self._column(block, "reasons", "<u8"), 0)

    def temperature_c(self, block: Array) -> Array:
        """(F, boards) NaN where not valid; of slow frames alone."""
        valid = self._column(block, "slow_ok", "u1") == 0
        return np.where(valid, self._column(block, "temperature_c", "<i2"), np.nan)

    def _size(self, name: str) -> int:
        at = self._at.get(name)
        return 0 if at is None else at.stop - at.start

    def _column(self, block: Array, name: str, kind: str) -> Array:
        at = self._at.get(name)
        if at is None:
            return np.zeros((len(block), 0), dtype=kind)
        return np.ascontiguousarray(block[:, at]).view(kind)


def shape_of(frame: bytes) -> Shape | None:
    """The shape of a frame as we write it; None where what changes could not be told from what does not."""
    try:
        places = _places(frame)
    except IndexError:
        return None
    if places is None or not {"mono_ns", "before_us"} <= {place.name for place in places}:
        return None
    return Shape(len(frame), tuple(places))


def _places(frame: bytes) -> list[Place] | None:
    """By walking over the map's entries, none of which holds others."""
    if frame[0] != 0xDE:
        return None
    places, at = [], 3
    for _ in range(int.from_bytes(frame[1:3], "big")):
        start, stop = _text(frame, at)
        name, mark = frame[start:stop].decode(), frame[stop]
        if mark in _UNSIGNED:
            start, at = stop + 1, stop + 1 + _UNSIGNED[mark]
            varies = name in _COUNTS
        elif mark in _BYTES:
            start = stop + 1 + _BYTES[mark]
            at = start + int.from_bytes(frame[stop + 1 : start], "big")
            varies = name != "gpus_hash" and at > start
        elif mark == _FLOAT:
            start, at = stop + 1, stop + 1 + _WORD
            varies = name in _NUMBERS
        elif mark < 0x80:
            at, varies = stop + 1, False
        elif mark in _TEXT or 0xA0 <= mark < 0xC0:
            (_, at), varies = _text(frame, stop), False
        else:
            return None
        if varies:
            places.append(Place(name, start, at))
    return places if at == len(frame) else None


def _text(frame: bytes, at: int) -> tuple[int, int]:
    """Where the text begins and ends whose mark stands at `at`. Raises `IndexError` where there is none."""
    mark = frame[at]
    if mark in _TEXT:
        start = at + 1 + _TEXT[mark]
        return start, start + int.from_bytes(frame[at + 1 : start], "big")
    if 0xA0 <= mark < 0xC0:
        return at + 1, at + 1 + (mark & 0x1F)
    raise IndexError
