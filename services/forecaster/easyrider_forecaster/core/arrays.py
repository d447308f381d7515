"""Arrays with one row a group (or a domain), grown and cleared together."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
SLOT_S = 0.1
"""Width of a slot: powers are means over it."""
BLOCK_SLOTS = 10
"""Slots of a block; one block a second, forecasts begin where a block ends."""
HORIZONS_S = (1, 2, 5, 10, 30)
"""Seconds ahead, which is blocks ahead too."""


class Rowed:
    """Owner of arrays whose first axis is the row; a cleared row is as if it had never been used."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._fresh: dict[str, Any] = {}

    def column(self, name: str, shape: tuple[int, ...], dtype: Any, fresh: Any) -> Array:
        """A new array of shape (rows, *shape), to be kept as the attribute `name`."""
        self._fresh[name] = fresh
        made = np.empty((self.rows, *shape), dtype)
        made[:] = fresh
        return made

    def grow(self, rows: int) -> None:
        """At least `rows` rows; the old ones keep what they hold."""
        if rows <= self.rows:
            return
        for name, fresh in self._fresh.items():
            old: Array = getattr(self, name)
            more = np.empty((rows - self.rows, *old.shape[1:]), old.dtype)
            more[:] = fresh
            setattr(self, name, np.concatenate((old, more)))
        self.rows = rows

    def clear(self, row: int) -> None:
        """Forget everything about one row."""
        for name, fresh in self._fresh.items():
            getattr(self, name)[row] = fresh

    def afresh(self, name: str, row: int) -> None:
        """Forget one column of one row."""
        getattr(self, name)[row] = self._fresh[name]


def cohort(rows: int, turn: int, of: int) -> Array:
    """Rows whose turn it is when dear work is spread over `of` ticks."""
    return np.arange(turn % of, rows, of)
