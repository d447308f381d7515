"""How much of its peak a job draws as a mean over ten seconds: what a target kept as a mean may count."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WINDOW_S: Final = 10
MEMORY_S: Final = 60
ENOUGH_S: Final = 20
_STEP: Final = 0.005


class Duty:
    """`duty` (J,): highest 10 s mean of a minute over the level a job may reach, 1 until 20 s are seen."""

    def __init__(self, jobs: int) -> None:
        self.seconds = np.full((WINDOW_S, jobs), np.nan)  # draw over level
        self.ratios = np.zeros((MEMORY_S, jobs))
        self.row = 0
        self.age_s = np.zeros(jobs)
        self.duty = np.ones(jobs)

    def add_second(self, mean_w: Floats, level_w: Floats) -> None:
        """Take the mean draw (J,) of one second and the level (J,): the smaller of limit and peak."""
        # Each second by its own level: a limit that falls must not make the seconds before look overfull.
        self.seconds[self.row % WINDOW_S] = mean_w / level_w
        # A gap makes the mean unknown, and unknown counts as full.
        ratio = np.fmin(1.0, self.seconds.sum(axis=0) / WINDOW_S)
        self.age_s += 1.0
        self.ratios[self.row % MEMORY_S] = np.where(self.age_s >= WINDOW_S, ratio, 0.0)
        self.row += 1
        highest = np.where(self.age_s >= ENOUGH_S, self.ratios.max(axis=0), 1.0)
        # Rounded up to a step, and let down only when clearly lower, so that a steady job moves nothing.
        up = np.ceil(highest / _STEP) * _STEP
        falls = highest < self.duty - 1.5 * _STEP
        self.duty = np.where((up > self.duty) | falls, np.minimum(up, 1.0), self.duty)

    def reset(self, job: int) -> None:
        """A job started or woke: nothing is known."""
        self.seconds[:, job] = np.nan
        self.ratios[:, job] = 0.0
        self.age_s[job] = 0.0
        self.duty[job] = 1.0
