"""The highest limit that frames and states have shown of each board since its newest ack: never less, and soon no more.

What is shown after an ack was made often comes before the ack does. It may not be forgotten with what was shown before
it; nor may it keep that alive, or a board whose acks are slower than its frames would count its old limit for ever,
and nothing that waits for its lowering could rise. So of what was shown after the highest, the highest is kept too.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.fleet import Floats

Stamps = NDArray[np.int64]


class Seen(NamedTuple):
    """(G,) columns, changed in place: the highest shown and when it was last; the highest after that, and when."""

    high_w: Floats
    high_ns: Stamps  # source clock; 0: nothing was shown
    since_w: Floats
    since_ns: Stamps

    def show(self, rows: NDArray[np.int64] | slice, watts: Floats, at_ns: int | Stamps) -> None:
        """A frame or a state shows this of boards (n,), each once."""
        high_w, high_ns, since_w, since_ns = (column[rows] for column in self)
        tops = watts >= high_w
        latest_ns = np.maximum(np.maximum(high_ns, since_ns), at_ns)
        self.high_w[rows] = np.where(tops, watts, high_w)
        self.high_ns[rows] = np.where(tops, latest_ns, high_ns)
        self.since_w[rows] = np.where(tops, 0.0, np.maximum(since_w, watts))
        self.since_ns[rows] = np.where(tops, 0, latest_ns)

    def acked(self, rows: NDArray[np.int64] | slice, ack_ns: int | Stamps) -> None:
        """An ack made at `ack_ns` tells what is in force: of what was shown up to then nothing counts any more."""
        high_w, high_ns, since_w, since_ns = (column[rows] for column in self)
        stays, next_ = high_ns > ack_ns, since_ns > ack_ns
        self.high_w[rows] = np.where(stays, high_w, np.where(next_, since_w, 0.0))
        self.high_ns[rows] = np.where(stays, high_ns, np.where(next_, since_ns, 0))
        self.since_w[rows], self.since_ns[rows] = np.where(stays, since_w, 0.0), np.where(stays, since_ns, 0)

    def forget(self, rows: NDArray[np.int64] | slice | int) -> None:
        """Nothing was shown of these boards."""
        for column in self:
            column[rows] = 0


def nothing(boards: int) -> Seen:
    """Before anything was shown."""
    stamps = np.zeros((2, boards), dtype=np.int64)
    return Seen(np.zeros(boards), stamps[0], np.zeros(boards), stamps[1])
