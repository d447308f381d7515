"""What the boards of emulated nodes want: two synthetic jobs a node that compute at full draw, and stall by turns.

While one waits, its watts are lent to the other. When it wakes, what both want is over what their node's domain may
draw, and the other has to give way.
"""

import numpy as np
from numpy.typing import NDArray

from fleet_frames import GPUS

BUSY_W, WAITING_W = 600.0, 110.0
BUSY_S, WAITING_S = (5.0, 8.0), (13.0, 16.0)
SWING = 0.01
Floats = NDArray[np.float64]


class Loads:
    """Demand of every board, advanced with time; the first job of a node has the lower half of its boards."""

    def __init__(self, nodes: int, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._waiting = np.full(nodes, -1)  # which job waits now; -1: none
        self._turn = self._random.integers(0, 2, nodes)
        self._until_s = 12.0 + self._random.uniform(0.0, BUSY_S[1], nodes)

    def demand_w(self, t_s: float, some: slice) -> Floats:
        """(n, GPUS) watts that boards of these nodes would draw without a limit, `t_s` after the start."""
        due = np.flatnonzero(self._until_s[some] <= t_s) + (some.start or 0)
        waits = self._waiting[due] < 0
        self._waiting[due] = np.where(waits, self._turn[due], -1)
        self._turn[due] = np.where(waits, 1 - self._turn[due], self._turn[due])
        longest = np.where(waits, WAITING_S[1], BUSY_S[1])
        shortest = np.where(waits, WAITING_S[0], BUSY_S[0])
        self._until_s[due] = t_s + self._random.uniform(shortest, longest)
        job = np.arange(GPUS) // (GPUS // 2)
        stalled = self._waiting[some][:, None] == job
        watts = np.where(stalled, WAITING_W, BUSY_W)
        return watts * self._random.normal(1.0, SWING, watts.shape).clip(0.95, 1.05)
