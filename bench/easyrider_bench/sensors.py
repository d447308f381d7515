"""What the boards of all runs show: energy means, a short look, a mean of one second. Figures are the twin's."""

from collections import deque
from collections.abc import Sequence

import numpy as np

from easyrider_bench.cases import LOOK_STEPS, STEP_S, Case
from easyrider_bench.controllers.contract import Floats
from easyrider_twin.sensors import FLICKER_SD, GAIN_SD

MEAN_STEPS = round(1.0 / STEP_S)
BUSY_RATIO = 0.5
"""Of the rating: above it a board computes, and its draw swings where the case says that it does."""


class Sensors:
    """Readings every 0.1 s, arrays of shape (runs, boards), each board at its own phase."""

    def __init__(self, cases: Sequence[Case]) -> None:
        runs, gpus = len(cases), cases[0].site.gpus
        self._rngs = [np.random.default_rng([case.key.seed, 12]) for case in cases]
        draws = [(rng.normal(1.0, GAIN_SD, gpus), rng.integers(2, size=gpus)) for rng in self._rngs]
        self._gain = np.clip(np.array([gain for gain, _ in draws]), 0.9, 1.1)
        self._late = np.array([late for _, late in draws]) == 1  # refreshed half a look earlier
        self._rng = np.random.default_rng([cases[0].key.seed, runs, 13])
        self._past: deque[Floats] = deque([np.zeros((runs, gpus))] * MEAN_STEPS, maxlen=MEAN_STEPS)
        self._total_w = np.zeros((runs, gpus))
        self._hz, self._ratio = np.zeros((runs, gpus)), np.zeros((runs, gpus))
        self._rating_w = np.array([case.site.max_w for case in cases])
        for run, case in enumerate(cases):
            if case.swing is not None:
                mine = np.isin(case.site.node_of, case.swing.nodes)
                self._hz[run] = np.where(mine, case.swing.hz * self._rngs[run].uniform(0.98, 1.02, gpus), 0.0)
                self._ratio[run] = np.where(mine, case.swing.ratio, 0.0)
        self._phase = np.array([rng.uniform(0.0, 1.0, gpus) for rng in self._rngs])
        self._swings = bool((self._ratio > 0).any())
        self._counter = np.where(self._ratio > 0, np.nan, 1.0)

    def take(self, power_w: Floats) -> None:
        """Take in one step."""
        self._total_w += power_w - self._past[0]
        self._past.append(power_w)

    def look(self, t_s: float) -> tuple[Floats, Floats, Floats]:
        """(energy means, instant, one-second mean)."""
        past = self._past
        flicker = self._gain * (1.0 + FLICKER_SD * self._rng.standard_normal(self._gain.shape))
        fresh, older = past[-1] + past[-2], past[-2] + past[-3]
        energy_w = self._gain * np.where(self._late, older, fresh) / LOOK_STEPS
        instant_w = np.where(self._late, past[-2], past[-1])
        if self._swings:
            side = np.where((self._hz * t_s + self._phase) % 1.0 < 0.5, 1.0, -1.0)
            busy = instant_w > BUSY_RATIO * self._rating_w
            instant_w = instant_w * (1.0 + busy * side * self._ratio)
            energy_w = energy_w * self._counter
        return energy_w, flicker * instant_w, flicker * self._total_w / MEAN_STEPS
