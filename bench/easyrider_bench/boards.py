"""All boards of all runs: what a limit does to a draw, and how late. Figures and their sources are the twin's."""

import numpy as np

from easyrider_bench.cases import STEP_S
from easyrider_bench.controllers.contract import Bools, Floats
from easyrider_twin.gpus import DEAD_TIME_S, OVERSHOOT_MAX, SETTLE_S


class Boards:
    """Enforced limits in, power out; arrays of shape (runs, boards). `exact`: cards that hold their limit exactly."""

    def __init__(self, limit_w: Floats, seeds: list[int], *, exact: bool) -> None:
        self._blend = 1.0 - float(np.exp(-STEP_S * 3.0 / SETTLE_S))
        self._coming = [limit_w.copy() for _ in range(round(DEAD_TIME_S / STEP_S))]
        self.limit_w = limit_w.copy()
        """The limit as each board's own loop follows it by now."""
        drawn = [
            np.random.default_rng([seed, 11]).uniform(0.0, OVERSHOOT_MAX, limit_w.shape[1]) for seed in seeds
        ]
        self.bound: Bools = np.zeros(limit_w.shape, dtype=np.bool_)
        self.overshoot: Floats = 1.0 + (0.0 if exact else 1.0) * np.array(drawn)

    def follow(self, enforced_w: Floats) -> None:
        """One step towards what was enforced one dead time ago."""
        self._coming.append(enforced_w.copy())
        self.limit_w += self._blend * (self._coming.pop(0) - self.limit_w)

    def capped(self, natural_w: Floats) -> Floats:
        """What each board draws at full effort; `bound` then tells which of them their limits hold back."""
        self.bound = natural_w > self.limit_w
        return np.where(self.bound, np.minimum(natural_w, self.limit_w * self.overshoot), natural_w)
