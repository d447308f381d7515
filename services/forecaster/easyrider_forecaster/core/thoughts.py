"""Rhythms that wait to be judged: a few at a time, between seconds, so that no forecast waits for them."""

import numpy as np

from easyrider_forecaster.core.arrays import Array
from easyrider_forecaster.core.detector import Detector
from easyrider_forecaster.core.history import History
from easyrider_forecaster.core.sight import Sight

_AT_A_TIME = 32


class Thoughts:
    """Rows in the order of their turn; one that waits already keeps its place."""

    def __init__(self) -> None:
        self._waiting: dict[int, None] = {}
        self._seen: Sight | None = None

    def add(self, rows: Array, seen: Sight) -> None:
        """These rows' turn came; `seen` is what their boards can show by now."""
        self._waiting.update(dict.fromkeys(rows.tolist()))
        self._seen = seen

    def next(self, detector: Detector, history: History, max_w: Array) -> bool:
        """Judge the rows that wait longest; False where none does."""
        if not self._waiting or self._seen is None:
            return False
        rows = list(self._waiting)[:_AT_A_TIME]
        for row in rows:
            del self._waiting[row]
        detector.judge(history, self._seen, max_w, np.array(rows, np.int64))
        return True
