"""Arrays whose last axis is the row: what is done to all groups at once lies side by side in memory."""

from typing import Any

import numpy as np

from easyrider_forecaster.core.arrays import Array


class Lanes:
    """Owner of such arrays, grown and cleared as `arrays.Rowed` is; a cleared row is as if it had never been used."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._fresh: dict[str, Any] = {}

    def lane(self, name: str, shape: tuple[int, ...], dtype: Any, fresh: Any) -> Array:
        """A new array of shape (*shape, rows), to be kept as the attribute `name`."""
        self._fresh[name] = fresh
        return np.full((*shape, self.rows), fresh, dtype)

    def grow(self, rows: int) -> None:
        """At least `rows` rows; the old ones keep what they hold."""
        if rows <= self.rows:
            return
        for name, fresh in self._fresh.items():
            old: Array = getattr(self, name)
            whole = np.full((*old.shape[:-1], rows), fresh, old.dtype)
            whole[..., : self.rows] = old
            setattr(self, name, whole)
        self.rows = rows

    def clear(self, row: int) -> None:
        """Forget everything about one row."""
        for name, fresh in self._fresh.items():
            getattr(self, name)[..., row] = fresh
