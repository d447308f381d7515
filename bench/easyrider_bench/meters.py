"""Meters on all domains of all runs: means of a period that come late, a little wrong and rounded."""

from collections import deque
from collections.abc import Sequence

import numpy as np

from easyrider_bench.cases import LOOK_STEPS, STEP_S, Case
from easyrider_bench.controllers.contract import Bools, Floats

GAIN_SD = 0.003
"""Class 0.5 instruments."""
ROUNDED_W = 10.0
PERIOD_S, DELAY_S = 1.0, 0.3


class Meters:
    """Newest readings, arrays of shape (runs, domains). `exact`: of every 0.1 s, at once and true."""

    def __init__(self, cases: Sequence[Case], domains: int, *, exact: bool) -> None:
        self.period_s = LOOK_STEPS * STEP_S if exact else PERIOD_S
        self.delay_s = 0.0 if exact else DELAY_S
        self._exact = exact
        self._steps = round(self.period_s / STEP_S)
        rngs = [np.random.default_rng([case.key.seed, 14]) for case in cases]
        self._gain = np.array([rng.normal(1.0, 0.0 if exact else GAIN_SD, domains) for rng in rngs])
        phases = np.array([rng.integers(self._steps // LOOK_STEPS, size=domains) for rng in rngs])
        self._phase = phases * LOOK_STEPS
        self._sum_w = np.zeros((len(cases), domains))
        self._coming: deque[tuple[float, Bools, Floats, float]] = deque()
        self.power_w = np.full((len(cases), domains), np.nan)
        self.end_s = np.full((len(cases), domains), -np.inf)
        self.seq = np.zeros((len(cases), domains), dtype=np.int64)

    def take(self, step: int, t_s: float, wall_w: Floats) -> None:
        """Take in one step that ended at `t_s`, and show what has become due."""
        self._sum_w += wall_w
        due = (step + 1 + self._phase) % self._steps == 0
        if due.any():
            mean_w = self._gain * self._sum_w / self._steps
            shown_w = mean_w if self._exact else np.round(mean_w / ROUNDED_W) * ROUNDED_W
            self._sum_w[due] = 0.0
            self._coming.append((t_s + self.delay_s, due, shown_w, t_s))
        while self._coming and self._coming[0][0] <= t_s + 1e-9:
            _, mine, shown_w, end_s = self._coming.popleft()
            self.power_w[mine], self.end_s[mine] = shown_w[mine], end_s
            self.seq[mine] += 1
