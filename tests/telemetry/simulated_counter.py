"""A counter that steps at its own refresh, read by a poll that jitters; all synthetic, all in virtual time."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from easyrider_telemetry.core.pace import CounterRead

START_NS = 5_000_000_000_000
UNIX_US = 1_700_000_000_000_000


@dataclass
class SimulatedCounter:
    """Steps every `refresh_s` from a random phase; `true_w(t)` is constant between steps or nearly so."""

    refresh_s: float
    true_w: Callable[[float], float]
    stamps: str = "none"  # none, refresh, query
    seed: int = 1
    sub_steps: int = 20

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.phase_s = self.random.uniform(0, self.refresh_s)
        self._step, self._energy_mj = -1, 0.0

    def read(self, t_s: float) -> CounterRead:
        """The counter at `t_s`; times must not go back."""
        step = int((t_s - self.phase_s) // self.refresh_s)
        while self._step < step:
            begin_s = self.phase_s + self._step * self.refresh_s
            part_s = self.refresh_s / self.sub_steps
            joules = sum(self.true_w(begin_s + (k + 0.5) * part_s) * part_s for k in range(self.sub_steps))
            self._energy_mj += joules * 1000
            self._step += 1
        stamp_us = 0
        if self.stamps == "refresh":
            stamp_us = UNIX_US + round((self.phase_s + step * self.refresh_s) * 1e6)
        elif self.stamps == "query":
            stamp_us = UNIX_US + round(t_s * 1e6)
        return CounterRead(START_NS + round(t_s * 1e9), int(self._energy_mj), stamp_us)

    def burst(self, begin_s: float, spacing_s: float = 0.002, length_s: float = 0.6) -> list[CounterRead]:
        """Fast reads, a little late each, as a thread gets them."""
        count = int(length_s / spacing_s)
        return [self.read(begin_s + k * spacing_s + self.random.uniform(0, 0.0003)) for k in range(count)]

    def polls(self, begin_s: float, period_s: float, count: int, jitter_s: float) -> Iterator[CounterRead]:
        """Ordinary looks on an absolute timer, each late by a random part of a few `jitter_s`."""
        for k in range(count):
            late_s = abs(self.random.gauss(0, jitter_s))
            yield self.read(begin_s + k * period_s + min(late_s, 0.5 * period_s))
