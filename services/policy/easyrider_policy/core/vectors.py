"""The newest vector of each node as it was said: most grants say the same again, so its entries are kept."""

import numpy as np
from numpy.typing import NDArray

from easyrider.messages import GpuLimit
from easyrider_policy.core.fleet import Bools, Fleet, Floats

Ints = NDArray[np.int64]


class Vectors:
    """Entries by node row, and the watts (G,) that they were made of; NaN: nil, or never said."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self._watts = np.full((2, len(fleet.gpus)), np.nan)
        self._mine: Bools = np.zeros(len(fleet.gpus), dtype=np.bool_)
        self._entries: dict[int, tuple[GpuLimit, ...]] = {}

    def said(
        self, nodes: Ints, mine: Bools, limit_w: Floats, fallback_w: Floats
    ) -> dict[int, tuple[GpuLimit, ...]]:
        """The entries of these nodes now; boards outside `mine` (G,) have nil. The dictionary is not to be changed."""
        fleet, watts = self.fleet, np.array([limit_w, fallback_w])
        same = (watts == self._watts) | (np.isnan(watts) & np.isnan(self._watts))
        moved = ~same.all(axis=0) | (mine != self._mine)
        others = np.bincount(fleet.gpu_node[moved], minlength=len(fleet.nodes)) > 0
        fresh = np.zeros(len(fleet.nodes), dtype=np.bool_)
        for node in nodes.tolist():
            if others[node] or node not in self._entries:
                boards, fresh[node] = fleet.gpus_of(node), True
                rows = zip(
                    fleet.gpus[boards],
                    mine[boards].tolist(),
                    limit_w[boards].tolist(),
                    fallback_w[boards].tolist(),
                    strict=True,
                )
                self._entries[node] = tuple(
                    GpuLimit(uuid=uuid, limit_w=watts if our else None, fallback_w=back_w if our else None)
                    for uuid, our, watts, back_w in rows
                )
        if fresh.any():
            rewritten = fresh[fleet.gpu_node]
            self._watts = np.where(rewritten, watts, self._watts)
            self._mine = np.where(rewritten, mine, self._mine)
        return self._entries
