"""States and acks read by where things stand in them, as frames are by `frame_mould.py`.

What a node says of itself and its boards again and again is compared, byte by byte; counters, stamps and the watts of
limits are cut out, of thousands of words at once. A word that fits would have been decoded to the same record.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

COUNTS = frozenset({"epoch", "seq", "highest_epoch", "highest_seq", "nonce", "t_ns", "mono_ns"})
LIMITS = ("requested_w", "enforced_w", "fallback_w")
MOST_W = 1e9
"""Of any limit that a message may hold."""
_UNSIGNED = {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8}
_TEXT = {0xD9: 1, 0xDA: 2}
_FLOAT = 0xCB
_MARKS = {0xC0, 0xC2, 0xC3}
"""Nil, false and true."""
_WORD = 8


@dataclass(frozen=True, slots=True)
class Counter:
    """Where a whole number stands; `small`: in its own mark, where it is below 128."""

    name: str
    start: int
    stop: int
    small: bool


@dataclass(frozen=True)
class WordShape:
    """Words of one length with the same fields at the same places. `limits` holds, by board, where each watts begin."""

    length: int
    counters: tuple[Counter, ...]
    limits: tuple[tuple[tuple[str, int], ...], ...]

    @property
    def width(self) -> int:
        """Bytes of a row: as many as a word has, and a few more, so that eight at a time can be compared."""
        return self.length + -self.length % _WORD

    @cached_property
    def alike(self) -> bool:
        """Whether the same limits are told of every board."""
        return len({tuple(name for name, _ in board) for board in self.limits}) == 1

    @cached_property
    def _fixed(self) -> Array:
        mask = np.full(self.width, 0xFF, dtype=np.uint8)
        for counter in self.counters:
            mask[counter.start : counter.stop] = 0
        for board in self.limits:
            for _, start in board:
                mask[start : start + _WORD] = 0
        return mask.view(np.uint64)

    @cached_property
    def _tops(self) -> Array:
        """First bytes that have to be below 128: of the longest counters, and of those that are their own mark."""
        return np.array([one.start for one in self.counters if one.small or one.stop - one.start == _WORD])

    @cached_property
    def _counter_of(self) -> dict[str, Counter]:
        return {counter.name: counter for counter in self.counters}

    @cached_property
    def _columns(self) -> dict[str, Array]:
        """(boards * 8,) bytes of each kind of limit, board after board."""
        return {
            name: np.array([start + byte for board in self.limits for at, start in board if at == name
                            for byte in range(_WORD)], dtype=np.intp)
            for name in LIMITS
        }  # fmt: skip

    def block(self, words: Sequence[bytes]) -> Array:
        """(F, width) of words that have this length."""
        rest = bytes(self.width - self.length)
        return np.frombuffer(rest.join((*words, b"")), dtype=np.uint8).reshape(len(words), self.width)

    def fits(self, block: Array, moulds: Array) -> Array:
        """(F,) words that hold what their moulds (F, width) do, and no number that a message may not hold."""
        other = (block.view(np.uint64) ^ moulds.view(np.uint64)) & self._fixed
        good: Array = np.bitwise_or.reduce(other, axis=1) == 0
        if len(self._tops):
            good &= (block[:, self._tops] < 0x80).all(axis=1)
        for name in LIMITS:
            watts = self.limit_w(block, name)
            sound = (watts >= 0.0) & (watts <= MOST_W)
            if not sound.all():
                good &= sound.all(axis=1)
        return good

    def has(self, name: str) -> bool:
        """Whether this limit is told of the boards."""
        return len(self._columns[name]) > 0

    def limit_w(self, block: Array, name: str) -> Array:
        """(F, boards) watts; (F, 0) where none are told."""
        return np.ascontiguousarray(block[:, self._columns[name]]).view(">f8").astype(np.float64)

    def count(self, block: Array, name: str) -> Array:
        """(F,) of one counter."""
        at = self._counter_of[name]
        size = at.stop - at.start
        return np.ascontiguousarray(block[:, at.start : at.stop]).view(f">u{size}")[:, 0].astype(np.int64)


class _Odd(Exception):
    """These bytes are not what we write."""


def word_shape_of(word: bytes) -> WordShape | None:
    """The shape of a word as we write it; None where what changes could not be told from what does not."""
    try:
        walk = _Walk(word)
        at = walk.record(0, None)
    except (IndexError, _Odd):
        return None
    return (
        WordShape(len(word), tuple(walk.counters), tuple(map(tuple, walk.boards)))
        if at == len(word)
        else None
    )


class _Walk:
    """Over a map whose entries are plain but for `gpus`, a list of maps whose entries are."""

    def __init__(self, word: bytes) -> None:
        self.word = word
        self.counters: list[Counter] = []
        self.boards: list[list[tuple[str, int]]] = []

    def record(self, at: int, board: list[tuple[str, int]] | None) -> int:
        """Past the record that begins here; its places are noted."""
        count, at = self._sized(at, 0x80, 0xDE)
        for _ in range(count):
            start, at = self._text(at)
            name = self.word[start:at].decode()
            if name == "gpus" and board is None:
                boards, at = self._sized(at, 0x90, 0xDC)
                for _ in range(boards):
                    self.boards.append([])
                    at = self.record(at, self.boards[-1])
            else:
                at = self._plain(name, at, board)
        return at

    def _plain(self, name: str, at: int, board: list[tuple[str, int]] | None) -> int:
        mark = self.word[at]
        if mark in _UNSIGNED or mark < 0x80:
            small = mark < 0x80
            start = at if small else at + 1
            stop = start + (1 if small else _UNSIGNED[mark])
            if board is None and name in COUNTS:
                self.counters.append(Counter(name, start, stop, small))
            return stop
        if mark == _FLOAT:
            if board is not None and name in LIMITS:
                board.append((name, at + 1))
            return at + 1 + _WORD
        return at + 1 if mark in _MARKS else self._text(at)[1]

    def _sized(self, at: int, small: int, large: int) -> tuple[int, int]:
        mark = self.word[at]
        if small <= mark < small + 16:
            return mark - small, at + 1
        if mark != large:
            raise _Odd
        return int.from_bytes(self.word[at + 1 : at + 3], "big"), at + 3

    def _text(self, at: int) -> tuple[int, int]:
        mark = self.word[at]
        if mark in _TEXT:
            start = at + 1 + _TEXT[mark]
            return start, start + int.from_bytes(self.word[at + 1 : start], "big")
        if 0xA0 <= mark < 0xC0:
            return at + 1, at + 1 + (mark & 0x1F)
        raise _Odd
