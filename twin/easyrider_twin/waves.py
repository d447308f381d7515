"""Fine synthetic power of one training board, and what its sensors make of it. All synthetic, all from a seed.

For looking at rhythms: steps of 5 ms where the plant has 25, and no world around. Shape: compute in one to
four forward/backward pairs, exposed communication, iterations that jitter, stalls, a level that wanders, noise.
"""

from dataclasses import dataclass

import numpy as np

from easyrider_twin.outcome import FloatArray

STEP_S, FINE_S = 0.005, 0.0005
"""Of training, and of kernels that are switched on and off within milliseconds."""
FALL_S = 0.026
LOOK_S = 0.1
WINDOW_S = 0.025
"""An instant field looks at the last quarter of each refresh."""
STALL_RATIO = 0.22
WANDER_SD, WANDER_S = 0.012, 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """One board of a training job; ratios are of `rating_w`."""

    period_s: float
    jitter: float
    pairs: int
    compute_ratio: float
    forward_ratio: float  # of the compute ratio
    communication_share: float  # of an iteration
    communication_ratio: float
    stall_every_s: float = float("inf")
    noise_w: float = 7.0
    rating_w: float = 700.0

    @classmethod
    def drawn(
        cls, rng: np.random.Generator, *, period_s: float, jitter: float, noise_w: float = 7.0
    ) -> "Training":
        """Everything else as it comes."""
        return cls(
            period_s=period_s,
            jitter=jitter,
            noise_w=noise_w,
            pairs=int(rng.choice([1, 2, 4])),
            compute_ratio=float(rng.uniform(0.76, 0.95)),
            forward_ratio=float(rng.uniform(0.7, 1.0)),
            communication_share=float(rng.uniform(0.05, 0.30)),
            communication_ratio=float(rng.uniform(0.25, 0.5)),
            stall_every_s=float(rng.uniform(30.0, 300.0)),
        )

    def power_w(self, rng: np.random.Generator, seconds: float) -> FloatArray:
        """True power in W every 5 ms."""
        lengths_s, levels_w = self._iterations(rng, seconds)
        ends_s = np.cumsum(lengths_s)
        t_s = (np.arange(round(seconds / STEP_S)) + 0.5) * STEP_S + rng.uniform(0.0, self.period_s)
        flat_w = levels_w[np.minimum(np.searchsorted(ends_s, t_s), len(levels_w) - 1)]
        slow_w = _with_falls(flat_w) * (1.0 + _wander(rng, seconds, len(flat_w)))
        return np.maximum(slow_w + rng.normal(0.0, self.noise_w, len(slow_w)), 0.0)

    def _iterations(self, rng: np.random.Generator, seconds: float) -> tuple[FloatArray, FloatArray]:
        number = int(seconds / self.period_s * 1.6) + 20
        compute = 1.0 - self.communication_share
        shares = [compute / self.pairs / 3, compute / self.pairs * 2 / 3] * self.pairs
        ratios = [self.compute_ratio * self.forward_ratio, self.compute_ratio] * self.pairs
        lengths_s = self.period_s * np.clip(rng.normal(1.0, self.jitter, number), 0.5, 1.5)
        segments_s = np.outer(lengths_s, [*shares, self.communication_share]).ravel()
        levels_w = np.tile([*ratios, self.communication_ratio], number) * self.rating_w
        ends_s, begins_s = np.cumsum(segments_s), []
        at_s = rng.exponential(min(self.stall_every_s, 1e9))
        while at_s < seconds:
            begins_s.append(at_s)
            at_s += rng.exponential(self.stall_every_s)
        places = np.searchsorted(ends_s, begins_s)
        stalls_s = np.minimum(0.4 + rng.exponential(0.8, len(begins_s)), 3.0)
        return (
            np.insert(segments_s, places, stalls_s),
            np.insert(levels_w, places, STALL_RATIO * self.rating_w),
        )


def square_w(
    rng: np.random.Generator, *, hertz: float, jitter: float, low_w: float, high_w: float, seconds: float
) -> FloatArray:
    """True power of a kernel that is switched on and off, in W every 0.5 ms."""
    halves = int(2 * seconds * hertz * 1.3) + 20
    ends_s = np.cumsum(0.5 / hertz * np.clip(rng.normal(1.0, jitter, halves), 0.3, 1.7))
    t_s = (np.arange(round(seconds / FINE_S)) + 0.5) * FINE_S + rng.uniform(0.0, 1.0 / hertz)
    return np.where(np.searchsorted(ends_s, t_s) % 2 == 0, high_w, low_w)


def energy_means_w(power_w: FloatArray, step_s: float = STEP_S) -> FloatArray:
    """Exact means over each 0.1 s."""
    steps = round(LOOK_S / step_s)
    whole = len(power_w) // steps * steps
    return np.asarray(power_w[:whole].reshape(-1, steps).mean(axis=1))


def instants_w(
    power_w: FloatArray,
    *,
    step_s: float = STEP_S,
    refresh_s: float = 0.1,
    window_s: float = WINDOW_S,
    first_s: float = 0.0,
) -> FloatArray:
    """What a poll every 0.1 s reads of a field renewed every `refresh_s` that looks back over `window_s`."""
    sums = np.concatenate(([0.0], np.cumsum(power_w)))
    length_s = len(power_w) * step_s
    polls_s = np.arange(1, int(length_s / LOOK_S + 1e-9) + 1) * LOOK_S
    renewed_s = first_s + np.floor((polls_s - first_s) / refresh_s + 1e-9) * refresh_s
    end = np.clip(np.rint(renewed_s / step_s).astype(np.int64), 1, len(power_w))
    begin = np.clip(end - max(1, round(window_s / step_s)), 0, end - 1)
    return np.asarray((sums[end] - sums[begin]) / (end - begin))


def _with_falls(power_w: FloatArray) -> FloatArray:
    """Rises stay sudden; a fall takes the time of a kernel's tail."""
    steps = max(1, round(FALL_S / STEP_S))
    padded = np.concatenate((np.full(steps, power_w[0]), power_w))
    sums = np.concatenate(([0.0], np.cumsum(padded)))
    trailing_w = (sums[steps:] - sums[:-steps]) / steps
    return np.maximum(power_w, trailing_w[1 : len(power_w) + 1])


def _wander(rng: np.random.Generator, seconds: float, steps: int) -> FloatArray:
    keep = float(np.exp(-1.0 / WANDER_S))
    walk = [rng.normal()]
    for push in rng.normal(0.0, np.sqrt(1.0 - keep**2), int(seconds) + 1):
        walk.append(keep * walk[-1] + push)
    return np.asarray(WANDER_SD * np.interp(np.arange(steps) * STEP_S, np.arange(len(walk)), walk))
