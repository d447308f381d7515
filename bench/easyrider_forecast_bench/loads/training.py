"""Synthetic training jobs: iterations with jitter, checkpoints by count of iterations, stalls by chance."""

from dataclasses import dataclass

import numpy as np

from easyrider_forecast_bench.loads.blocks import Blocks
from easyrider_forecast_bench.series import Array

COMPUTE = (0.76, 0.95)
COMMUNICATION = (0.25, 0.50)
COMMUNICATION_SHARE = (0.05, 0.30)
PERIODS_S = (0.2, 20.0)
JITTER = (0.01, 0.05)
PAUSED = 0.22
"""Share of the rating in checkpoints and stalls."""
CHECKPOINT_EVERY_S, CHECKPOINT_S = (120.0, 600.0), (5.0, 40.0)
STALL_EVERY_S, STALL_S = (30.0, 300.0), (0.4, 3.0)
_CHECKPOINT_JITTER = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One synthetic job: shape of an iteration in shares of the rating, and what interrupts it."""

    period_s: float
    jitter: float
    shares: Array  # of the period, adding to 1
    levels: Array  # of the rating
    checkpoint_every: int  # iterations; 0 for none
    checkpoint_s: float
    stall_every_s: float  # infinite for none
    stall_s: float


def job(rng: np.random.Generator, *, checkpoints: bool, stalls: bool) -> Job:
    """Any job: everything not named here is drawn, periods log-uniform."""
    period_s = float(np.exp(rng.uniform(*np.log(PERIODS_S))))
    pairs = int(rng.choice([1, 2, 4]))
    talk = rng.uniform(*COMMUNICATION_SHARE)
    forward = rng.uniform(0.28, 0.40)  # a backward pass takes about twice as long as a forward one
    shares = np.array([forward, 1 - forward] * pairs + [0.0]) * (1 - talk) / pairs
    shares[-1] = talk
    levels = np.array([*rng.uniform(*COMPUTE, 2)] * pairs + [rng.uniform(*COMMUNICATION)])
    every_s, lasting_s = rng.uniform(*CHECKPOINT_EVERY_S), rng.uniform(*CHECKPOINT_S)
    stall_every_s, stall_s = rng.uniform(*STALL_EVERY_S), rng.uniform(*STALL_S)
    return Job(
        period_s=period_s,
        jitter=float(rng.uniform(*JITTER)),
        shares=shares,
        levels=levels,
        checkpoint_every=max(1, round(every_s / period_s)) if checkpoints else 0,
        checkpoint_s=float(lasting_s),
        stall_every_s=float(stall_every_s) if stalls else float("inf"),
        stall_s=float(stall_s),
    )


def blocks(job: Job, seconds: int, rng: np.random.Generator, rating_w: float) -> Blocks:
    """At least `seconds` of the job from somewhere in its middle."""
    number = int(1.2 * seconds / job.period_s) + 20
    turns_s = job.period_s * (1.0 + job.jitter * np.clip(rng.standard_normal(number), -3.0, 3.0))
    turns_s[0] *= 1.0 - rng.random()
    work = Blocks((turns_s[:, None] * job.shares).ravel(), np.tile(job.levels, number) * rating_w)
    ends_s = np.cumsum(turns_s)
    at_s, length_s = [np.zeros(0)], [np.zeros(0)]
    if job.checkpoint_every:
        first = int(rng.integers(job.checkpoint_every))
        due_s = ends_s[first :: job.checkpoint_every]
        at_s.append(due_s)
        length_s.append(job.checkpoint_s * (1 + _CHECKPOINT_JITTER * rng.uniform(-1, 1, len(due_s))))
    if np.isfinite(job.stall_every_s):
        count = rng.poisson(ends_s[-1] / job.stall_every_s)
        at_s.append(np.sort(rng.uniform(0, ends_s[-1], count)))
        length_s.append(rng.exponential(job.stall_s, count))
    pauses_s = np.concatenate(length_s)
    return work.with_pauses(np.concatenate(at_s), pauses_s, np.full(len(pauses_s), PAUSED * rating_w))
