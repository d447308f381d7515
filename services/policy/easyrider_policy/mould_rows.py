"""Moulds of one shape below each other in one array, beside whose they are: fetched by the thousand in one go."""

from typing import ClassVar

import numpy as np

_FIRST = 16


class MouldRows:
    """A row for each mould; a row that was left is the next to be used. Columns have room for more rows than there are.

    A kind of words adds columns of its own, and names all of them in `COLUMNS`.
    """

    COLUMNS: ClassVar[tuple[str, ...]] = ("moulds", "nodes", "slots", "firsts")

    def __init__(self, width: int, boards: int) -> None:
        self.boards = boards
        self.moulds = np.zeros((_FIRST, width), dtype=np.uint8)
        self.nodes, self.slots, self.firsts = np.zeros((3, _FIRST), dtype=np.int64)
        self.used = 0
        self._left: list[int] = []

    @property
    def room(self) -> int:
        """Rows that the columns have."""
        return len(self.moulds)

    def row(self) -> int:
        """One that nobody has."""
        if self._left:
            return self._left.pop()
        if self.used == self.room:
            for name in self.COLUMNS:
                column = getattr(self, name)
                setattr(self, name, np.concatenate([column, np.zeros_like(column)]))
        self.used += 1
        return self.used - 1

    def leave(self, row: int) -> None:
        """Nobody has it any more."""
        self._left.append(row)

    def fill(self, row: int, word: bytes, node: int, slot: int, first: int) -> None:
        """This word is the mould from now on, of a node on a boot with this slot; `first`: row of its first board."""
        self.moulds[row, : len(word)] = np.frombuffer(word, dtype=np.uint8)
        self.nodes[row], self.slots[row], self.firsts[row] = node, slot, first
