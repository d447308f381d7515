"""A synthetic load as blocks of constant wanted power, drawn with a board's rise and fall at 5 ms.

Synthetic: made up from measured statistics of training jobs, not a recording of one.
"""

from dataclasses import dataclass

import numpy as np

from easyrider_forecast_bench.series import SLOTS, Array

STEP_S = 0.005
STEPS = round(1.0 / SLOTS / STEP_S)
"""Steps in one sample of 100 ms."""
WINDOW_STEPS = 5
"""The last 25 ms of each sample are what the instant field shows."""
NOISE_W = 7.0
FALL_S = 0.026
RISES_S = (0.002, 0.005)
WANDER_RATIO, WANDER_S = 0.012, 300.0


@dataclass(frozen=True, slots=True)
class Blocks:
    """Wanted power in turn: `level_w` for `length_s` each."""

    length_s: Array
    level_w: Array

    def with_pauses(self, at_s: Array, length_s: Array, level_w: Array) -> "Blocks":
        """The same with pauses put in where the work so far took `at_s`; what follows comes later."""
        order = np.argsort(at_s, kind="stable")
        at_s, length_s, level_w = at_s[order], length_s[order], level_w[order]
        ends_s = np.cumsum(self.length_s)
        keep = at_s < ends_s[-1]
        at_s, length_s, level_w = at_s[keep], length_s[keep], level_w[keep]
        edges_s = np.union1d(np.concatenate(([0.0], ends_s)), at_s)
        begins_s = edges_s[:-1]
        own = np.minimum(np.searchsorted(ends_s, begins_s, side="right"), len(ends_s) - 1)
        place = np.searchsorted(begins_s, at_s)
        return Blocks(
            np.insert(np.diff(edges_s), place, length_s), np.insert(self.level_w[own], place, level_w)
        )

    def drawn(self, seconds: int, rng: np.random.Generator, rating_w: float) -> Array:
        """Power of one board at 5 ms, (steps,): edges, a slow wander of the level, noise; within [0, rating]."""
        steps = round(seconds / STEP_S)
        begins_s = np.concatenate(([0.0], np.cumsum(self.length_s)))
        if begins_s[-1] < seconds:
            raise ValueError(f"blocks last {begins_s[-1]:.0f} s, {seconds} s are wanted")
        starts_w, time_s = self._edges(rng.uniform(*RISES_S))
        first = np.ceil(begins_s / STEP_S).astype(np.int64)
        counts = np.diff(np.minimum(first, steps))
        owner = np.repeat(np.arange(len(counts)), counts)
        since_s = np.arange(steps) * STEP_S - begins_s[owner]
        level_w = self.level_w[owner]
        power_w = level_w + (starts_w[owner] - level_w) * np.exp(-since_s / time_s[owner])
        power_w *= 1.0 + np.repeat(_wander(seconds, rng), round(1.0 / STEP_S))
        power_w += NOISE_W * rng.standard_normal(steps, dtype=np.float32)
        return np.asarray(np.clip(power_w, 0.0, rating_w), dtype=np.float32)

    def _edges(self, rise_s: float) -> tuple[Array, Array]:
        """Power at the begin of every block and the time constant there, (blocks,) each."""
        now_w, starts_w, times_s = float(self.level_w[0]), [], []
        for level_w, length_s in zip(self.level_w.tolist(), self.length_s.tolist(), strict=True):
            time_s = rise_s if level_w > now_w else FALL_S
            starts_w.append(now_w)
            times_s.append(time_s)
            now_w = level_w + (now_w - level_w) * float(np.exp(-length_s / time_s))
        return np.asarray(starts_w), np.asarray(times_s)


def sampled(power_w: Array) -> tuple[Array, Array]:
    """Exact means of 100 ms, and means of the last 25 ms of each, (slots,) float32."""
    cells = power_w[: len(power_w) // STEPS * STEPS].reshape(-1, STEPS)
    return (
        cells.mean(axis=1, dtype=np.float64).astype(np.float32),
        cells[:, -WINDOW_STEPS:].mean(axis=1, dtype=np.float64).astype(np.float32),
    )


def _wander(seconds: int, rng: np.random.Generator) -> Array:
    """A level's slow drift, second by second: standard deviation 1.2 %, forgotten over 300 s."""
    keep = float(np.exp(-1.0 / WANDER_S))
    shocks = rng.standard_normal(seconds) * WANDER_RATIO * np.sqrt(1 - keep**2)
    shocks[0] = rng.standard_normal() * WANDER_RATIO
    drift, now = np.empty(seconds), 0.0
    for second, shock in enumerate(shocks.tolist()):
        now = keep * now + shock
        drift[second] = now
    return drift
