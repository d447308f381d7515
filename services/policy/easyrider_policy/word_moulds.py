"""States and acks that nobody has to decode: those that fit the mould of one their node said before.

Each node has a mould for each length of its states and of its acks. Moulds of one shape stand below each other, beside
what their words say of the node, so that those of a thousand words are fetched and compared at once. Watts and counters
are read from each word: a limit counts only as it was read back.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from easyrider.messages import LimitAck, NodeState
from easyrider.word_mould import LIMITS, WordShape, word_shape_of
from easyrider_policy.core.fleet import Bools, Floats, Ints
from easyrider_policy.core.heard import Acks, States
from easyrider_policy.core.said import ShownBoards, read_back
from easyrider_policy.mould_rows import MouldRows
from easyrider_policy.waiting_words import Word, arrived_ns

MOST_SHAPES = 64
"""Shapes in use; a site has a few for each kind of node and width of counters."""


class Sayer(NamedTuple):
    """Whose words a mould is of."""

    node: int
    name: str
    boot_id: str
    slot: int
    """Of its boot, in the picture's ages."""
    first: int
    """Fleet row of its first board; the words name all of them, in the fleet's order."""


class WordBench(MouldRows):
    """Moulds of one shape, a row each; `is_ack` tells what their words are."""

    COLUMNS = (*MouldRows.COLUMNS, "held", "settable", "controlled", "baseline_w")

    def __init__(self, shape: WordShape, is_ack: bool) -> None:
        super().__init__(shape.width, len(shape.limits))
        self.shape, self.is_ack = shape, is_ack
        self.held: Bools = np.zeros(self.room, dtype=np.bool_)
        self.settable: Bools = np.zeros((self.room, self.boards), dtype=np.bool_)
        self.controlled: Bools = np.zeros((self.room, self.boards), dtype=np.bool_)
        self.baseline_w: Floats = np.zeros((self.room, self.boards))
        self.sayers: list[Sayer] = []

    def lay(self, row: int, data: bytes, word: NodeState | LimitAck, sayer: Sayer) -> int:
        """What a node says from now on; the row."""
        self.fill(row, data, sayer.node, sayer.slot, sayer.first)
        self.sayers[row : row + 1] = [sayer]
        if isinstance(word, NodeState):
            self.held[row] = word.held
            self.settable[row] = [board.settable for board in word.gpus]
            self.controlled[row] = [board.controlled for board in word.gpus]
            self.baseline_w[row] = [np.nan if one.baseline_w is None else one.baseline_w for one in word.gpus]
        return row


@dataclass(slots=True)
class Fitting:
    """Words (F,) of one shape that fit their moulds, each of another node: which of those that wait, and whose."""

    bench: WordBench
    at: Ints
    rows: Ints
    block: NDArray[np.uint8]
    arrived_ns: Ints

    def some(self, which: Bools) -> "Fitting":
        """Those that are marked (F,)."""
        return Fitting(
            self.bench, self.at[which], self.rows[which], self.block[which], self.arrived_ns[which]
        )

    @property
    def nodes(self) -> Ints:
        """(F,) rows of the fleet."""
        return self.bench.nodes[self.rows]

    @property
    def slots(self) -> Ints:
        """(F,) of their boots."""
        return self.bench.slots[self.rows]

    @property
    def sayers(self) -> list[Sayer]:
        """(F,)."""
        sayers = self.bench.sayers
        return [sayers[row] for row in self.rows.tolist()]

    def count(self, name: str) -> Ints:
        """(F,) of one counter."""
        return np.asarray(self.bench.shape.count(self.block, name), dtype=np.int64)

    def as_acks(self, minted_s: Floats) -> Acks:
        """Their columns."""
        requested_w, enforced_w, fallback_w = self._limits(np.nan)
        return Acks(
            nodes=self.nodes,
            minted_s=minted_s,
            mono_ns=self.count("mono_ns"),
            epochs=self.count("epoch"),
            seqs=self.count("seq"),
            boards=read_back(self._board_rows(), requested_w, enforced_w, fallback_w),
            each=self.bench.boards,
        )

    def as_states(self, minted_s: Floats) -> States:
        """Their columns."""
        bench, rows = self.bench, self._board_rows()
        shown = ShownBoards(
            said=(),
            rows=rows,
            settable=bench.settable[self.rows].ravel(),
            controlled=bench.controlled[self.rows].ravel(),
            baseline_w=bench.baseline_w[self.rows].ravel(),
            read=rows,
            most_w=np.max(self._limits(0.0), axis=0),
            taken=(),
        )
        nonces = self.count("nonce")
        return States(self.nodes, minted_s, self.count("mono_ns"), nonces, shown, bench.boards)

    def _board_rows(self) -> Ints:
        return np.asarray(self.bench.firsts[self.rows][:, None] + np.arange(self.bench.boards)).ravel()

    def _limits(self, no_fallback_w: float) -> list[Floats]:
        """(F * boards,) requested, enforced, fallback."""
        shape, size = self.bench.shape, len(self.rows) * self.bench.boards
        return [
            shape.limit_w(self.block, name).ravel() if shape.has(name) else np.full(size, no_fallback_w)
            for name in LIMITS
        ]


class WordMoulds:
    """What the nodes of one fleet usually say, by subject and length."""

    def __init__(self) -> None:
        self._benches: dict[tuple[WordShape, bool], WordBench] = {}
        self._seats: dict[tuple[bytes, int], tuple[WordBench, int]] = {}
        self._lengths: defaultdict[bytes, set[int]] = defaultdict(set)

    def forget(self, subject: bytes) -> None:
        """Something else was said here: what was usual before is judged again before it is."""
        for length in self._lengths.pop(subject, ()):
            self._leave(subject, length)

    def learn(self, subject: bytes, data: bytes, word: NodeState | LimitAck, sayer: Sayer) -> None:
        """From a word as we write it, that was judged and is what its node usually says, limits of all boards read."""
        shape = word_shape_of(data)
        if shape is None or not shape.alike:
            return
        key = shape, isinstance(word, LimitAck)
        if key not in self._benches:
            if len(self._benches) >= MOST_SHAPES or not (
                shape.has("requested_w") and shape.has("enforced_w")
            ):
                return
            self._benches[key] = WordBench(*key)
        self._leave(subject, len(data))
        bench = self._benches[key]
        self._seats[subject, len(data)] = bench, bench.lay(bench.row(), data, word, sayer)
        self._lengths[subject].add(len(data))

    def _leave(self, subject: bytes, length: int) -> None:
        bench, row = self._seats.pop((subject, length), (None, 0))
        if bench is not None:
            bench.leave(row)

    def sift(self, words: Sequence[Word]) -> tuple[list[Fitting], list[int]]:
        """Words of different nodes: those that fit, by shape; and which of them have to be decoded."""
        seats, left = self._seats, []
        placed: defaultdict[WordBench, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for at, (subject, data, _) in enumerate(words):
            seat = seats.get((subject, len(data)))
            if seat is None:
                left.append(at)
            else:
                places, rows = placed[seat[0]]
                places.append(at)
                rows.append(seat[1])
        fitting = []
        for bench, (where, rows) in placed.items():
            mine = [words[at] for at in where]
            block = bench.shape.block([data for _, data, _ in mine])
            one = Fitting(bench, np.array(where), np.array(rows), block, arrived_ns(mine))
            fits = bench.shape.fits(block, bench.moulds[one.rows])
            if not fits.all():
                left += one.at[~fits].tolist()
                one = one.some(fits)
            if len(one.at):
                fitting.append(one)
        return fitting, sorted(left)
