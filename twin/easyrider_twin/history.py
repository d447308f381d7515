"""Power and limits of every domain at 10 Hz, gathered while a plant runs."""

from collections import deque

import numpy as np

from easyrider_twin.gpus import STEP_S
from easyrider_twin.outcome import SAMPLE_S, FloatArray, Outcome
from easyrider_twin.plant import Plant

STEPS_PER_SAMPLE = round(SAMPLE_S / STEP_S)


class History:
    """Means over 0.1 s of the last `keep_s` seconds in which the job clock ran."""

    def __init__(self, plant: Plant, keep_s: float = 3600.0) -> None:
        self._plant = plant
        self._rows: deque[tuple[FloatArray, FloatArray, FloatArray]] = deque(maxlen=round(keep_s / SAMPLE_S))
        self._sum_w = np.zeros(len(plant.domains.devices))
        self._steps = 0
        self._seconds = 0.0
        self.wall_w = self._sum_w
        """Mean wall watts of the last whole sample."""

    def add(self) -> bool:
        """Take in the step just done; True when it completed a sample."""
        self._sum_w = self._sum_w + self._plant.domains.wall_w
        self._steps += 1
        if self._steps % STEPS_PER_SAMPLE:
            return False
        self.wall_w = self._sum_w / STEPS_PER_SAMPLE
        self._sum_w = np.zeros_like(self._sum_w)
        if self._plant.jobs.started:
            self._rows.append((self.wall_w, *self._plant.domains.limits_w()))
            self._seconds += SAMPLE_S
        return True

    def outcome(self) -> Outcome:
        """What came of the run so far."""
        names = list(self._plant.domains.devices)
        wall_w, hard_w, target_w = (
            np.array([row[k] for row in self._rows]).reshape(len(self._rows), len(names)) for k in range(3)
        )
        first_s = self._seconds - len(self._rows) * SAMPLE_S
        return Outcome(
            seconds=self._seconds,
            jobs=self._plant.jobs.outcomes(),
            trips=tuple(self._plant.trips),
            t_s=first_s + np.arange(len(self._rows), dtype=np.float64) * SAMPLE_S,
            wall_w={name: wall_w[:, k] for k, name in enumerate(names)},
            hard_w={name: hard_w[:, k] for k, name in enumerate(names)},
            target_w={name: target_w[:, k] for k, name in enumerate(names)},
            notes=self._plant.world.notes,
        )
