"""Synthetic loads without a period: a queue of inference requests, and somebody at a prompt."""

import numpy as np

from easyrider_forecast_bench.loads.blocks import Blocks
from easyrider_forecast_bench.series import Array

SLOTS_OF_SERVER = 16
IDLE = 0.18
PREFILL = (0.85, 0.95)


def queue(seconds: int, rng: np.random.Generator, rating_w: float) -> tuple[Blocks, Array]:
    """Requests by chance, more at times and fewer at others, served side by side; and the busy share, %.

    Power grows with the requests in service and saturates; each begins with a short prefill near full power.
    """
    mean_s = rng.uniform(2.0, 8.0)
    load = rng.uniform(0.25, 0.8)
    rate = load * SLOTS_OF_SERVER / mean_s
    minutes = -(-seconds // 60) + 1
    tide = np.exp(np.cumsum(rng.normal(0, 0.12, minutes)))
    tide = np.clip(tide / tide.mean(), 0.3, 2.0)
    arrivals_s = np.concatenate(
        [np.sort(rng.uniform(60 * m, 60 * m + 60, rng.poisson(60 * rate * tide[m]))) for m in range(minutes)]
    )
    served_s = mean_s * rng.lognormal(-0.32, 0.8, len(arrivals_s))
    free_s = np.zeros(SLOTS_OF_SERVER)
    begins_s = np.empty(len(arrivals_s))
    for number, (arrival_s, took_s) in enumerate(zip(arrivals_s.tolist(), served_s.tolist(), strict=True)):
        slot = int(free_s.argmin())
        begins_s[number] = max(arrival_s, free_s[slot])
        free_s[slot] = begins_s[number] + took_s
    prefill_s = np.clip(0.08 * served_s, 0.03, 0.4)
    edges_s = np.unique(np.concatenate(([0.0], begins_s, begins_s + prefill_s, begins_s + served_s)))
    edges_s = np.append(edges_s[edges_s < seconds], seconds + 1.0)
    busy = _inside(edges_s, begins_s, begins_s + served_s)
    filling = _inside(edges_s, begins_s, begins_s + prefill_s) > 0
    level = IDLE + 0.58 * (1 - np.exp(-busy / 5.0))
    level = np.where(filling, rng.uniform(*PREFILL), np.where(busy > 0, level, IDLE))
    return Blocks(np.diff(edges_s), level * rating_w), _by_second(edges_s, busy / SLOTS_OF_SERVER, seconds)


def prompt(seconds: int, rng: np.random.Generator, rating_w: float) -> tuple[Blocks, Array]:
    """Bursts of work between pauses, each burst at a level of its own with steps inside; and the busy share, %."""
    away_s, work_s = rng.uniform(8, 60), rng.uniform(2, 20)
    lengths: list[float] = []
    levels: list[float] = []
    while sum(lengths) < seconds + 1:
        lengths.append(float(rng.exponential(away_s)) + 0.2)
        levels.append(IDLE)
        left_s, level = float(rng.lognormal(np.log(work_s), 0.7)), rng.uniform(0.5, 0.95)
        while left_s > 0:
            step_s = min(left_s, float(rng.exponential(1.5)) + 0.05)
            lengths.append(step_s)
            levels.append(float(np.clip(level + rng.normal(0, 0.08), 0.3, 0.97)))
            left_s -= step_s
    edges_s = np.concatenate(([0.0], np.cumsum(lengths)))
    share = np.asarray(levels)
    busy = np.where(share > IDLE, 1.0, 0.0)
    return Blocks(np.asarray(lengths), share * rating_w), _by_second(edges_s, busy, seconds)


def _inside(edges_s: Array, begins_s: Array, ends_s: Array) -> Array:
    """How many of the spans cover each cell between edges."""
    began = np.searchsorted(np.sort(begins_s), edges_s[:-1], side="right")
    ended = np.searchsorted(np.sort(ends_s), edges_s[:-1], side="right")
    return np.asarray(began - ended)


def _by_second(edges_s: Array, share: Array, seconds: int) -> Array:
    """Mean of a share over every second, in %, (seconds,)."""
    area = np.concatenate(([0.0], np.cumsum(np.diff(edges_s) * share)))
    at = np.interp(np.arange(seconds + 1.0), edges_s, area)
    return np.asarray(100.0 * np.diff(at), dtype=np.float32)
