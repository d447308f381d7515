"""One second's samples of every row: plateau, low runs, dips, phase and shape (see `samples.take`)."""

import math

import numpy as np

from easyrider_forecaster.core.arrays import BLOCK_SLOTS, Array
from easyrider_forecaster.core.pulse import BINS, LOW_SHARE, RUNS
from easyrider_forecaster.core.samples import (
    HOLD_HIGH,
    HOLD_LOW,
    LEAST_PERIOD_TO_HOLD,
    LEVEL_GAIN,
    PLATEAU_GAIN,
)


def beat(
    power_w: Array, hidden: Array, floor_w: Array, max_w: Array, heard: Array, plateau_w: Array, low_run: Array,
    high_run: Array, patience: Array, in_dip: Array, dip_age: Array, quiet: Array, clock: Array, dip_clock: Array,
    left: Array, entered: Array, runs: Array, run_ends: Array, run_at: Array, period: Array, phase: Array,
    level_w: Array, held: Array, run_phase: Array, shape_w: Array, visits: Array,
) -> None:  # fmt: skip
    """Arrays are those of `Pulse`; all are written in place."""
    for row in range(len(heard)):
        floor, top = floor_w[row], max_w[row]
        plateau, run, high, dip, age = plateau_w[row], low_run[row], high_run[row], in_dip[row], dip_age[row]
        calm, ticks, began, at_run = quiet[row], clock[row], dip_clock[row], run_at[row]
        here, level, hold_for, moved_low = phase[row], level_w[row], held[row], run_phase[row]
        slots, began_here, ended_at = period[row], False, math.nan
        known = math.isfinite(slots)
        step = 1.0 / slots if known else 0.01
        for slot in range(BLOCK_SLOTS):
            x, covered = power_w[row, slot], hidden[row, slot]
            ok = math.isfinite(x)
            if ok and math.isnan(plateau):
                plateau = x
            reach = plateau - floor
            if reach < 0.05 * top:
                reach = 0.05 * top
            low = ok and not covered and x < plateau - LOW_SHARE * reach
            above = x > plateau
            if ok and not dip and (above or not covered):
                plateau += PLATEAU_GAIN * reach * (0.7 if above else -0.3)
            before = run
            if low:
                run = before + 1
            elif ok:
                run = 0
            high = high + 1 if dip and ok and not low else 0
            if dip:
                age += 1
            leaves = dip and high >= 2
            if leaves or (ok and not low and before > 0 and not dip):
                runs[row, at_run] = age - 2 if leaves else before
                run_ends[row, at_run] = heard[row] + slot
                at_run = (at_run + 1) % RUNS
            if not dip:
                ticks += 1.0
            enters = not dip and low and run > patience[row]
            calm = 0 if dip or enters else calm + 1
            if leaves:
                ended_at = age - 2.0
                ticks += 2.0
                age, dip = 0, False
                if known:
                    first = math.floor(here * BINS)
                    most, least = -np.inf, np.inf
                    for far in range(BINS):
                        value = shape_w[row, (first + far) % BINS] + level
                        most = max(most, value)
                        least = min(least, value)
                    line = most - 0.4 * (most - least)
                    for far in range(BINS):
                        if shape_w[row, (first + far) % BINS] + level >= line:
                            if far > 0:
                                here = ((first + far) % BINS) / BINS
                            break
            if enters:
                ticks -= run
                began, age, dip, began_here = ticks, run, True, True
                if known:
                    here = (here - moved_low) % 1.0
            moves = 0.0
            if known and not dip:
                line = plateau - LOW_SHARE * max(plateau - floor, 0.05 * top)
                now_w = shape_w[row, int(((here - 0.5 * step) % 1.0) * BINS) % BINS] + level
                next_w = shape_w[row, int(((here + 0.5 * step) % 1.0) * BINS) % BINS] + level
                late_rise = low and now_w < line and next_w >= line and hold_for < HOLD_LOW * slots
                late_fall = not low and now_w >= line and next_w < line and hold_for < HOLD_HIGH * slots
                hold = ok and not covered and slots >= LEAST_PERIOD_TO_HOLD and (late_rise or late_fall)
                hold_for = hold_for + 1.0 if hold else 0.0
                moves = 0.0 if hold else step
                here = (here + moves) % 1.0
                if ok:
                    bin_ = int(((here - 0.5 * step) % 1.0) * BINS) % BINS
                    shape = float(shape_w[row, bin_])
                    rest = x - shape - level
                    if covered and rest < 0.0:
                        rest = 0.0
                    level += LEVEL_GAIN * min(max(rest, -0.1 * top), 0.1 * top)
                    seen = visits[row, bin_] + 1.0
                    gain = max(1.0 / (seen + 1.0), 1.0 / max(6.0 * slots / BINS, 6.0))
                    shape_w[row, bin_] = shape + gain * rest
                    visits[row, bin_] = seen
            else:
                hold_for = 0.0
            moved_low = moved_low + moves if low else 0.0
        plateau_w[row], low_run[row], high_run[row], in_dip[row], dip_age[row] = plateau, run, high, dip, age
        quiet[row], clock[row], dip_clock[row], run_at[row] = calm, ticks, began, at_run
        phase[row], level_w[row], held[row], run_phase[row] = here, level, hold_for, moved_low
        left[row], entered[row] = ended_at, began_here
        heard[row] += BLOCK_SLOTS
