"""Power of all boards at once: what a limit does to a draw, and how late.

True edges (2 ms up, about 26 ms down on measured boards) are shorter than one step of 25 ms, so a draw
changes from one step to the next.
"""

import numpy as np

from easyrider_twin.layout import Layout
from easyrider_twin.outcome import FloatArray
from easyrider_twin.tapes import BoolArray

STEP_S = 0.025
DEAD_TIME_S = 0.05
SETTLE_S = 0.2
"""A new limit shows 95 % of its effect so long after the dead time."""
OVERSHOOT_MAX = 0.03
"""Boards hold a binding limit within 0-3 %, each its own share."""


class Boards:
    """Enforced limits in, power out; arrays of shape (n_gpus,)."""

    def __init__(self, layout: Layout, rng: np.random.Generator) -> None:
        self._dead_steps = round(DEAD_TIME_S / STEP_S)
        self._blend = 1.0 - float(np.exp(-STEP_S * 3.0 / SETTLE_S))
        self._coming = [layout.default_limit_w.copy() for _ in range(self._dead_steps)]
        self.overshoot = 1.0 + rng.uniform(0.0, OVERSHOOT_MAX, layout.gpus)
        self.limit_w = layout.default_limit_w.copy()
        """The limit as the board's own loop follows it by now."""
        self.lit = np.ones(layout.gpus, dtype=np.bool_)

    def settle(self, limit_w: FloatArray) -> None:
        """Start at this limit, as if it had been in force for long."""
        self._coming = [limit_w.copy() for _ in range(self._dead_steps)]
        self.limit_w = limit_w.copy()

    def follow(self, enforced_w: FloatArray) -> None:
        """One step of the board's own control loop towards what was enforced one dead time ago."""
        self._coming.append(enforced_w.copy())
        self.limit_w += self._blend * (self._coming.pop(0) - self.limit_w)

    def capped(self, natural_w: FloatArray) -> tuple[FloatArray, BoolArray]:
        """(draw, bound): what each board draws at full effort, and whether its limit holds it back."""
        bound = natural_w > self.limit_w
        return np.where(bound, np.minimum(natural_w, self.limit_w * self.overshoot), natural_w), bound
