"""Phases fitted to the last period (see `phase.search`), low runs judged (see `Pulse.judge_runs`)."""

import math

import numpy as np

from easyrider_forecaster.core.arrays import Array
from easyrider_forecaster.core.history import SLOTS
from easyrider_forecaster.core.phase import CAP_W, GAIN, LONGEST, POINTS, SHIFTS
from easyrider_forecaster.core.pulse import (
    ALIKE,
    BINS,
    MEMORY_SLOTS,
    RUNS,
    SHORT_PATIENCE,
    YOUNG_PATIENCE,
    YOUNG_SLOTS,
)  # fmt: skip


def search(
    end: int, value: Array, in_dip: Array, quiet: Array, period: Array, phase: Array, level_w: Array, shape_w: Array
) -> None:  # fmt: skip
    """`value` is the ring of samples."""
    rest = np.empty(POINTS)
    base = np.empty(POINTS)
    for row in range(len(period)):
        span = min(period[row], LONGEST)
        if not math.isfinite(span) or in_dip[row] or quiet[row] < span:
            continue
        count = 0
        for point in range(POINTS):
            back = math.floor(point * (span / POINTS))
            seen = value[row, (end - 1 - back) % SLOTS]
            if math.isnan(seen):
                continue
            rest[count] = seen - level_w[row]
            base[count] = phase[row] - (back + 0.5) / period[row]
            count += 1
        best, best_cost = 0.0, np.inf
        for shift in SHIFTS:
            cost = abs(shift)
            for point in range(count):
                at = base[point] + shift
                bin_ = math.floor((at - math.floor(at)) * BINS) % BINS
                cost += min(abs(rest[point] - shape_w[row, bin_]), CAP_W)
            if cost < best_cost:
                best, best_cost = shift, cost
        phase[row] = (phase[row] + GAIN * best) % 1.0


def judge_runs(heard: Array, runs: Array, run_ends: Array, usual_run: Array, patience: Array) -> None:
    """Patience of every row by the last runs."""
    kept = np.empty(RUNS)
    for row in range(len(heard)):
        number = 0
        for run in range(RUNS):
            if math.isfinite(runs[row, run]) and heard[row] - run_ends[row, run] <= MEMORY_SLOTS:
                at = number
                while at > 0 and kept[at - 1] > runs[row, run]:
                    kept[at] = kept[at - 1]
                    at -= 1
                kept[at] = runs[row, run]
                number += 1
        median = kept[min(number // 2, number - 1)] if number else np.inf
        slack = max(ALIKE * median, 1.01)
        alike = 0
        for run in range(number):
            if abs(kept[run] - median) <= slack:
                alike += 1
        if alike >= max(4.0, 0.55 * number):
            usual_run[row], patience[row] = median, 1.4 * median + 4.0
        else:
            usual_run[row] = math.nan
            patience[row] = YOUNG_PATIENCE if heard[row] < YOUNG_SLOTS else SHORT_PATIENCE
