"""What happened in the windows that end now: mean, highest 100 ms, and whether a window can be judged at all."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from easyrider_forecaster.core.accuracy_origins import Place
from easyrider_forecaster.core.arrays import BLOCK_SLOTS, HORIZONS_S, Array
from easyrider_forecaster.core.lanes import Lanes

_BLOCKS = HORIZONS_S[-1] + 2
_HIDDEN, _MOVED = 1, 2
_MOVES = 0.02
"""A limit that moves by less leaves the draw as it was."""
ABSURD_W = 1e6
"""Of one GPU: no measurement and no forecast."""
_WHOLE = 0.9
"""Share of a window's samples that must be there."""


@dataclass(frozen=True, slots=True)
class Window:
    """One horizon's window of every row. Watts of one GPU as measured, a mean of NaN where samples miss.

    `hidden`: a limit hid a sample of it.
    """

    mean_w: Array
    peak_w: Array
    hidden: Array
    moved: Array  # a limit moved since the second before it


class Seen(Lanes):
    """The last half minute of what was measured, second by second."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.total_w = self.lane("total_w", (_BLOCKS,), np.float32, 0.0)
        self.number = self.lane("number", (_BLOCKS,), np.int16, 0)
        self.top_w = self.lane("top_w", (_BLOCKS,), np.float32, -np.inf)
        self.flags = self.lane("flags", (_BLOCKS,), np.uint8, 0)
        self.limit_w = self.lane("limit_w", (), np.float32, np.nan)

    def take(self, block: int, raw: Array, hidden: Array, limit_w: Array) -> None:
        """One closed block: (rows, 10) watts, NaN is a gap, and which of them a limit hid; (rows,) limits."""
        at = block % _BLOCKS
        number, total_w, top_w = self.number[at], self.total_w[at], self.top_w[at]
        with np.errstate(all="ignore"):
            slots = np.ascontiguousarray(raw.T, np.float32)
            number[:] = BLOCK_SLOTS
            slots.sum(axis=0, out=total_w)
            slots.max(axis=0, out=top_w)
            rows = np.flatnonzero(~((slots.min(axis=0) >= 0) & (top_w <= ABSURD_W)))
            if len(rows):
                part = slots[:, rows]
                present = (part >= 0) & (part <= ABSURD_W)
                number[rows] = present.sum(axis=0)
                total_w[rows] = np.where(present, part, 0.0).sum(axis=0)
                top_w[rows] = np.where(present, part, -np.inf).max(axis=0)
            limit_w = limit_w.astype(np.float32)
            moved = np.abs(limit_w - self.limit_w) > _MOVES * self.limit_w
        self.flags[at] = _HIDDEN * hidden.any(axis=1) | _MOVED * moved
        self.limit_w[:] = limit_w

    def second_w(self, block: int) -> Array:
        """Mean of the second that ends with `block`, (rows,); NaN where a sample is missing."""
        second_w = self.total_w[block % _BLOCKS] / np.float32(BLOCK_SLOTS)
        return np.where(self.whole(block), second_w, np.float32(np.nan))

    def whole(self, block: int) -> Array:
        """Where this block has all its samples, (rows,)."""
        return np.asarray(self.number[block % _BLOCKS] == BLOCK_SLOTS)

    def hidden(self, block: int) -> Array:
        """Where a limit hid a sample of this block, (rows,)."""
        return np.asarray((self.flags[block % _BLOCKS] & _HIDDEN) > 0)

    def windows(self, block: int, places: list[Place]) -> Iterator[tuple[Place, Window]]:
        """These windows, which end with `block`; shortest first."""
        total_w = np.zeros(self.rows, np.float32)
        number = np.zeros(self.rows, np.int16)
        top_w = np.full(self.rows, -np.inf, np.float32)
        flags = np.zeros(self.rows, np.uint8)
        back = 0
        for place in places:
            horizon_s = HORIZONS_S[place.column]
            while back < horizon_s:
                at = (block - back) % _BLOCKS
                total_w += self.total_w[at]
                number += self.number[at]
                np.maximum(top_w, self.top_w[at], out=top_w)
                flags |= self.flags[at]
                back += 1
            whole = number >= _WHOLE * BLOCK_SLOTS * horizon_s
            yield (
                place,
                Window(
                    mean_w=np.where(whole, total_w / np.maximum(number, 1), np.nan),
                    peak_w=top_w.copy(),
                    hidden=(flags & _HIDDEN) > 0,
                    moved=(flags & _MOVED) > 0,
                ),
            )
