"""Looks at many nodes as columns: what frames of one row each say, when they all say it in the usual way."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.fleet import Floats

Ints = NDArray[np.int64]


class Looks(NamedTuple):
    """F frames, each of another node and of its present boot, of B boards each; NaN where a cell is not valid."""

    nodes: Ints  # (F,)
    rows: Ints  # (F, B) of the fleet
    mean_w: Floats  # (F, B)
    limit_w: Floats  # (F, B) enforced
    read_ns: Ints  # (F,) source clock
    minted_s: Floats  # (F,) receiver's monotonic clock

    def some(self, which: NDArray[np.bool_]) -> "Looks":
        """Those that are marked (F,)."""
        nodes, rows, mean_w, limit_w, read_ns, minted_s = self
        return Looks(
            nodes[which], rows[which], mean_w[which], limit_w[which], read_ns[which], minted_s[which]
        )
