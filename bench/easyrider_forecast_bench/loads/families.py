"""The synthetic families by name and seed: which series there are, and how each is made."""

from dataclasses import dataclass

import numpy as np

from easyrider_forecast_bench.loads import aperiodic, training
from easyrider_forecast_bench.loads.blocks import Blocks, sampled
from easyrider_forecast_bench.series import SLOTS, Array, Series

RATING_W = 700.0
JOBS = 20
"""Of a domain."""
LONG_S, FULL_S, QUICK_S = 125 * 60, 40 * 60, 15 * 60
SYNTHETIC = ("checkpoints", "stalls", "periodic", "aperiodic", "domain", "capped")
FULL = {"checkpoints": 40, "stalls": 12, "periodic": 12, "aperiodic": 12, "domain": 12, "capped": 12}
QUICK = {"checkpoints": 6, "stalls": 3, "periodic": 3, "aperiodic": 4, "domain": 2, "capped": 3}
LONG_CHECKPOINTS = 10
ORIGINS, QUICK_ORIGINS = 100, 24
_SEED = 20_000
"""Scored here and nowhere else: structure and settings of the product are found on other seeds."""


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Key:
    """Names one series. `traces` is the folder of a recorded one, empty for what is synthetic."""

    family: str
    number: int
    seconds: int
    origins: int
    name: str
    traces: str = ""


def keys(*, quick: bool) -> list[Key]:
    """Every synthetic series of the full or the quick bench."""
    found = []
    for family, count in (QUICK if quick else FULL).items():
        for number in range(count):
            long = family == "domain" or (family == "checkpoints" and number < LONG_CHECKPOINTS)
            seconds = QUICK_S if quick else LONG_S if long else FULL_S
            found.append(
                Key(
                    family=family,
                    number=number,
                    seconds=seconds,
                    origins=QUICK_ORIGINS if quick else ORIGINS,
                    name=f"{family}-{number:02}",
                )
            )
    return found


def series(key: Key) -> Series:
    """The synthetic series of this name; the same for the same key, always."""
    rng = np.random.default_rng([_SEED, SYNTHETIC.index(key.family), key.number, key.seconds])
    if key.family == "domain":
        return _domain(key, rng)
    if key.family == "capped":
        return _capped(key, rng)
    busy_pct = np.full(key.seconds, np.nan, np.float32)
    if key.family == "aperiodic":
        made, busy_pct = (aperiodic.queue, aperiodic.prompt)[key.number % 2](key.seconds, rng, RATING_W)
    else:
        made = _training(key.family, key.seconds, rng)
    power_w, instant_w = sampled(made.drawn(key.seconds, rng, RATING_W))
    return Series(
        family=key.family,
        name=key.name,
        rating_w=RATING_W,
        gpus=1,
        power_w=power_w,
        instant_w=instant_w,
        util_pct=busy_pct,
    )


def _training(family: str, seconds: int, rng: np.random.Generator) -> Blocks:
    job = training.job(rng, checkpoints=family == "checkpoints", stalls=family != "periodic")
    return training.blocks(job, seconds, rng, RATING_W)


def _domain(key: Key, rng: np.random.Generator) -> Series:
    parts = [
        sampled(_training("checkpoints", key.seconds, rng).drawn(key.seconds, rng, RATING_W))
        for _ in range(JOBS)
    ]
    means, instants = (np.stack(each) for each in zip(*parts, strict=True))
    return Series(
        family=key.family,
        name=key.name,
        rating_w=JOBS * RATING_W,
        gpus=JOBS,
        power_w=means.sum(axis=0, dtype=np.float64).astype(np.float32),
        instant_w=instants.sum(axis=0, dtype=np.float64).astype(np.float32),
        util_pct=np.full(key.seconds, np.nan, np.float32),
        parts_w=means,
        part_instant_w=instants,
    )


def _capped(key: Key, rng: np.random.Generator) -> Series:
    """A job that runs free, then under a limit, then free again; every other one is under it from its start."""
    made = _training("periodic", key.seconds, rng)
    natural_w = made.drawn(key.seconds, rng, RATING_W)
    begin_s, end_s = 0 if key.number % 2 else round(0.4 * key.seconds), round(0.7 * key.seconds)
    limit = rng.uniform(0.5, 0.7) * RATING_W
    limit_w = np.full(key.seconds, RATING_W, np.float32)
    limit_w[begin_s:end_s] = limit
    fine_w = np.repeat(limit_w, len(natural_w) // key.seconds)
    power_w, instant_w = sampled(np.minimum(natural_w, fine_w))
    free_w, _ = sampled(natural_w)
    return Series(
        family=key.family,
        name=key.name,
        rating_w=RATING_W,
        gpus=1,
        power_w=power_w,
        instant_w=instant_w,
        util_pct=np.full(key.seconds, np.nan, np.float32),
        natural_w=free_w,
        limit_w=limit_w,
        released_s=end_s,
    )


def origins_s(key_origins: int, first_s: int, last_s: int, seed: int) -> Array:
    """So many origins, one by chance in each of as many equal stretches; every second where there are fewer."""
    every = np.arange(first_s, last_s + 1)
    if len(every) <= key_origins:
        return every
    edges = np.linspace(first_s, last_s + 1, key_origins + 1)
    drawn = np.random.default_rng([_SEED, 7, seed]).random(key_origins)
    return np.floor(edges[:-1] + drawn * np.diff(edges)).astype(np.int64)


assert SLOTS == 10  # the boards' energy views are means of 100 ms
