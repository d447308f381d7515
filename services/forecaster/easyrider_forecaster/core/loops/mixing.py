"""Rivals weighed, remembered, and judged by what came (see `Mix`)."""

import math

import numpy as np

from easyrider_forecaster.core.arrays import HORIZONS_S, Array
from easyrider_forecaster.core.mix import (
    ASLEEP,
    DEPTHS,
    FORGET,
    MEMORY,
    NEGLIGIBLE,
    ORIGINS,
    SHARPNESS,
    STARTS,
)

_HORIZONS = len(HORIZONS_S)


def weigh(
    block: int, rivals: Array, now: Array, loss: Array, made: Array, said: Array, context: Array, mixed: Array
) -> None:
    """`now` is the context of every row; `mixed` (rows, horizons) is written, and the record of this origin."""
    experts = rivals.shape[2]
    for row in range(len(rivals)):
        context[row, block % ORIGINS] = now[row]
        for h in range(_HORIZONS):
            slot = STARTS[h] + block % DEPTHS[h]
            least = np.inf
            for expert in range(experts):
                made[row, slot, expert] = rivals[row, h, expert]
                if not math.isnan(rivals[row, h, expert]):
                    least = min(least, loss[row, now[row], h, expert])
            weight, sum_ = 0.0, 0.0
            for expert in range(experts):
                behind = loss[row, now[row], h, expert] - least
                if behind < NEGLIGIBLE and not math.isnan(rivals[row, h, expert]):
                    gain = math.exp(-SHARPNESS * behind)
                    weight += gain
                    sum_ += gain * rivals[row, h, expert]
            mixed[row, h] = sum_ / weight if weight > 0.0 else math.nan
            said[row, slot] = mixed[row, h]


def score(
    block: int, h: int, outcome_w: Array, valid: Array, rating_w: Array, loss: Array, made: Array, said: Array,
    context: Array, error_w: Array, rival_error_w: Array, scored: Array,
) -> None:  # fmt: skip
    """One horizon."""
    origin = block - HORIZONS_S[h]
    slot, experts = STARTS[h] + origin % DEPTHS[h], loss.shape[3]
    forget, gain = FORGET, 0.12 if HORIZONS_S[h] >= 30 else 0.2
    for row in range(len(outcome_w)):
        told, came = said[row, slot], outcome_w[row]
        if not valid[row] or not math.isfinite(told) or not math.isfinite(came):
            continue
        scored[row, h] += 1
        pace = 1.0 / min(scored[row, h], MEMORY)
        miss = abs(told - came)
        old = error_w[row, h]
        error_w[row, h] = old + pace * (miss - old) if math.isfinite(old) else miss
        asleep = ASLEEP * miss
        miss = abs(made[row, slot, 0] - came)
        old = rival_error_w[row, h]
        rival_error_w[row, h] = old + pace * (miss - old) if math.isfinite(old) else miss
        scale = max(max(error_w[row, h], 1e-3 * rating_w[row]), 0.1)
        where = context[row, origin % ORIGINS]
        for expert in range(experts):
            far = abs(made[row, slot, expert] - came)
            far = (asleep if math.isnan(far) else far) / scale
            loss[row, where, h, expert] = forget * loss[row, where, h, expert] + gain * min(far, 8.0)
