"""Frames that nobody has to decode: those that fit the mould of one their node said before.

Each node has a mould for each length of its frames: with slow columns or without, with the list of its boards. Moulds
of one shape stand below each other in one array, so that those of a thousand frames are fetched and compared at once.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from easyrider import frame_batch, wire
from easyrider.frame_mould import Shape, shape_of
from easyrider.messages import NodeFrame
from easyrider_policy.core.fleet import Ints

_FIRST = 16
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


Word = tuple[bytes, bytes, int]
"""Subject, frame, and the receiver's nanoseconds at which it came."""


class Fitting(NamedTuple):
    """Frames (F,) of one shape that fit their moulds, each of another node."""

    shape: Shape
    block: NDArray[np.uint8]
    usual: list[Usual]
    words: list[Word]

    def some(self, which: NDArray[np.bool_]) -> "Fitting":
        """Those that are marked (F,)."""
        kept = np.flatnonzero(which).tolist()
        usual, words = [self.usual[at] for at in kept], [self.words[at] for at in kept]
        return Fitting(self.shape, self.block[which], usual, words)


class _Bench:
    """Moulds of one shape, a row each."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.rows = np.zeros((_FIRST, shape.width), dtype=np.uint8)
        self.usual: list[Usual] = []

    def lay(self, frame: bytes, usual: Usual) -> int:
        """Add a mould; its row."""
        row = len(self.usual)
        if row == len(self.rows):
            self.rows = np.concatenate([self.rows, np.zeros_like(self.rows)])
        self.usual.append(usual)
        self.relay(row, frame, usual)
        return row

    def relay(self, row: int, frame: bytes, usual: Usual) -> None:
        """The same node says something else from now on."""
        self.rows[row, : len(frame)] = np.frombuffer(frame, dtype=np.uint8)
        self.usual[row] = usual


class Moulds:
    """What the nodes of one fleet usually say, by subject and length."""

    def __init__(self) -> None:
        self._benches: dict[Shape, _Bench] = {}
        self._seats: dict[tuple[bytes, int], tuple[_Bench, int]] = {}

    def learn(self, subject: bytes, data: bytes, frame: NodeFrame, usual: Usual) -> None:
        """From a frame that was found to be what its node usually says."""
        seat = self._seats.get((subject, len(data)))
        if seat is None:
            shape = shape_of(data) if frame_batch.is_whole(frame) and wire.encode(frame) == data else None
            if shape is None or (shape not in self._benches and len(self._benches) >= MOST_SHAPES):
                return
            bench = self._benches.setdefault(shape, _Bench(shape))
            self._seats[subject, len(data)] = bench, bench.lay(data, usual)
        elif shape_of(data) == seat[0].shape and wire.encode(frame) == data:
            seat[0].relay(seat[1], data, usual)
        else:
            del self._seats[subject, len(data)]

    def sift(self, words: Sequence[Word]) -> tuple[list[Fitting], list[Word]]:
        """Frames of different subjects: those that fit, by shape; and those that have to be decoded."""
        seats, left = self._seats, []
        placed: defaultdict[_Bench, tuple[list[int], list[Word]]] = defaultdict(lambda: ([], []))
        for word in words:
            seat = seats.get((word[0], len(word[1])))
            if seat is None:
                left.append(word)
                continue
            rows, mine = placed[seat[0]]
            rows.append(seat[1])
            mine.append(word)
        fitting = []
        for bench, (rows, mine) in placed.items():
            block = bench.shape.block([data for _, data, _ in mine])
            fits = bench.shape.fits(block, bench.rows[rows])
            whole = Fitting(bench.shape, block, [bench.usual[row] for row in rows], mine)
            if fits.all():
                fitting.append(whole)
                continue
            left += [mine[at] for at in np.flatnonzero(~fits).tolist()]
            if fits.any():
                fitting.append(whole.some(fits))
        return fitting, left
