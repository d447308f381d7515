"""Frames that nobody has to decode: those that fit the mould of one their node said before.

Each node has a mould for each length of its frames: with slow columns or without, with the list of its boards. Moulds
of one shape stand below each other in one array, so that those of a thousand frames are fetched and compared at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from easyrider import frame_batch, wire
from easyrider.frame_mould import Shape, shape_of
from easyrider.messages import NodeFrame
from easyrider_policy.core.fleet import Ints
from easyrider_policy.mould_rows import MouldRows
from easyrider_policy.waiting_words import Word

_ROW_BITS = 32
_ROW = (1 << _ROW_BITS) - 1
MOST_SHAPES = 32
"""Shapes in use; a site has a few for each kind of node. More means that something plays with lengths."""


class Usual(NamedTuple):
    """What a node's frames say of themselves as long as nothing is unusual about them."""

    node: int
    name: str
    boot_id: str
    gpus_hash: bytes
    boards: int
    rows: Ints
    slot: int
    """Of its boot, in the picture's ages."""


@dataclass(slots=True)
class Fitting:
    """Frames (F,) of one shape that fit their moulds, each of another node."""

    bench: "FrameBench"
    rows: Ints
    """Of the bench."""
    block: NDArray[np.uint8]
    arrived_ns: Ints
    words: list[Word]

    def some(self, which: NDArray[np.bool_]) -> "Fitting":
        """Those that are marked (F,)."""
        words = list(compress(self.words, which.tolist()))
        return Fitting(self.bench, self.rows[which], self.block[which], self.arrived_ns[which], words)

    @property
    def shape(self) -> Shape:
        """Of all of them."""
        return self.bench.shape

    @property
    def nodes(self) -> Ints:
        """(F,) rows of the fleet."""
        return self.bench.nodes[self.rows]

    @property
    def slots(self) -> Ints:
        """(F,) of their boots."""
        return self.bench.slots[self.rows]

    @property
    def boards(self) -> Ints:
        """(F, boards) rows of the fleet."""
        return self.bench.firsts[self.rows][:, None] + np.arange(self.bench.boards)

    @property
    def names(self) -> list[str]:
        """(F,) of their nodes."""
        return list(map(self.bench.names.__getitem__, self.rows.tolist()))

    @property
    def boots(self) -> list[str]:
        """(F,) that their moulds name."""
        return list(map(self.bench.boots.__getitem__, self.rows.tolist()))


class FrameBench(MouldRows):
    """Moulds of one shape, a row each."""

    def __init__(self, shape: Shape, number: int, boards: int) -> None:
        super().__init__(shape.width, boards)
        self.shape, self.number = shape, number
        self.names: list[str] = []
        self.boots: list[str] = []

    def lay(self, row: int, frame: bytes, usual: Usual) -> int:
        """What a node says from now on; the row."""
        self.fill(row, frame, usual.node, usual.slot, int(usual.rows[0]))
        self.names[row : row + 1], self.boots[row : row + 1] = [usual.name], [usual.boot_id]
        return row


class Moulds:
    """What the nodes of one fleet usually say, by subject and length."""

    def __init__(self) -> None:
        self._benches: dict[Shape, FrameBench] = {}
        self._by_number: list[FrameBench] = []
        self._seats: dict[tuple[bytes, int], int] = {}
        """The number of a bench, and in the lower bits a row of it: what a word's place is looked up by in one go."""

    def learn(self, subject: bytes, data: bytes, frame: NodeFrame, usual: Usual) -> None:
        """From a frame that was found to be what its node usually says."""
        seat = self._seats.get((subject, len(data)))
        if seat is None:
            shape = shape_of(data) if frame_batch.is_whole(frame) and wire.encode(frame) == data else None
            if shape is None or (shape not in self._benches and len(self._benches) >= MOST_SHAPES):
                return
            if shape not in self._benches:
                self._benches[shape] = FrameBench(shape, len(self._benches), usual.boards)
                self._by_number.append(self._benches[shape])
            bench = self._benches[shape]
            self._seats[subject, len(data)] = bench.number << _ROW_BITS | bench.lay(bench.row(), data, usual)
            return
        bench, row = self._by_number[seat >> _ROW_BITS], seat & _ROW
        if shape_of(data) == bench.shape and wire.encode(frame) == data:
            bench.lay(row, data, usual)
        else:
            del self._seats[subject, len(data)]
            bench.leave(row)

    def sift(self, words: Sequence[Word]) -> tuple[list[Fitting], list[Word]]:
        """Frames of different subjects: those that fit, by shape; and those that have to be decoded."""
        if not words:
            return [], []
        said, frames, came = zip(*words, strict=True)
        places = map(self._seats.get, zip(said, map(len, frames), strict=True), repeat(-1))
        seats, came_ns = np.fromiter(places, np.int64, len(words)), np.array(came, dtype=np.int64)
        numbers = seats >> _ROW_BITS
        fitting, left = [], [words[at] for at in np.flatnonzero(seats < 0).tolist()]
        for number in np.flatnonzero(np.bincount(numbers + 1)[1:]).tolist():
            bench, at = self._by_number[number], np.flatnonzero(numbers == number)
            mine = list(map(words.__getitem__, at.tolist()))
            block = bench.shape.block([data for _, data, _ in mine])
            rows = seats[at] & _ROW
            one = Fitting(bench, rows, block, came_ns[at], mine)
            fits = bench.shape.fits(block, bench.moulds[rows])
            if not fits.all():
                left += one.some(~fits).words
                one = one.some(fits)
            if len(one.rows):
                fitting.append(one)
        return fitting, left
