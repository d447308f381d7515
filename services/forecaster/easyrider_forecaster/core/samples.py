"""One second's samples put through plateau, low runs, dips, phase and shape: the array form, and the reference.

Source of the rules: a sample is low below plateau - 0.33 x (plateau - idle); regular low runs are communication,
longer ones dips; phase waits for an edge that comes late.
"""

import numpy as np

from easyrider_forecaster.core.arrays import BLOCK_SLOTS, Array
from easyrider_forecaster.core.pulse import BINS, LOW_SHARE, RUNS, Pulse

LONGEST_DIP = 600
PLATEAU_GAIN = 0.02
LEVEL_GAIN = 0.1 / 15
HOLD_LOW, HOLD_HIGH = 0.4, 0.25
LEAST_PERIOD_TO_HOLD = 8.0


def take(pulse: Pulse, power_w: Array, hidden: Array, floor_w: Array, max_w: Array) -> None:
    """One block, (rows, 10); NaN is a gap. A hidden sample may raise what is believed and lowers nothing."""
    pulse.left[:] = np.nan
    pulse.entered[:] = False
    every = np.arange(pulse.rows)
    for slot in range(BLOCK_SLOTS):
        x_w, covered = power_w[:, slot], hidden[:, slot]
        ok = np.isfinite(x_w)
        low = _plateau(pulse, x_w, ok, covered, floor_w, max_w)
        _runs(pulse, ok, low, every)
        _phase(pulse, x_w, ok, low, covered, floor_w, max_w, every)
        pulse.heard += 1


def _plateau(pulse: Pulse, x_w: Array, ok: Array, covered: Array, floor_w: Array, max_w: Array) -> Array:
    plateau = pulse.plateau_w
    first = ok & np.isnan(plateau)
    plateau[first] = x_w[first]
    reach = np.maximum(plateau - floor_w, 0.05 * max_w)
    with np.errstate(invalid="ignore"):
        low = ok & ~covered & (x_w < plateau - LOW_SHARE * reach)
        above = x_w > plateau
        moves = ok & ~pulse.in_dip & (~covered | above)
    plateau += np.where(moves, PLATEAU_GAIN * reach * np.where(above, 0.7, -0.3), 0.0)
    return np.asarray(low)


def _runs(pulse: Pulse, ok: Array, low: Array, every: Array) -> None:
    dip, run = pulse.in_dip, pulse.low_run
    before = run.copy()
    run[:] = np.where(low, before + 1, np.where(ok, 0, before))
    pulse.high_run[:] = np.where(dip & ok, np.where(low, 0, pulse.high_run + 1), 0)
    pulse.dip_age += dip
    leaves = dip & (pulse.high_run >= 2)
    ended = ok & ~low & (before > 0) & ~dip
    length = np.where(leaves, pulse.dip_age - 2.0, before.astype(np.float64))
    noted = np.flatnonzero(leaves | ended)
    if len(noted):
        at = pulse.run_at[noted]
        pulse.runs[noted, at] = length[noted]
        pulse.run_ends[noted, at] = pulse.heard[noted]
        pulse.run_at[noted] = (at + 1) % RUNS
    pulse.left[:] = np.where(leaves, pulse.dip_age - 2.0, pulse.left)
    pulse.clock += ~dip + 2.0 * leaves
    enters = ~dip & low & (run > pulse.patience)
    pulse.clock -= np.where(enters, run, 0)
    pulse.dip_clock[:] = np.where(enters, pulse.clock, pulse.dip_clock)
    pulse.dip_age[:] = np.where(enters, run, np.where(leaves, 0, pulse.dip_age))
    pulse.quiet[:] = np.where(dip | enters, 0, pulse.quiet + 1)
    pulse.entered |= enters
    dip |= enters
    dip &= ~leaves
    back = np.flatnonzero(enters & np.isfinite(pulse.period))
    pulse.phase[back] = (pulse.phase[back] - pulse.run_phase[back]) % 1.0
    out = np.flatnonzero(leaves & np.isfinite(pulse.period))
    if len(out):
        pulse.phase[out] = next_rise(pulse, out)
    del every


def next_rise(pulse: Pulse, rows: Array) -> Array:
    """Phase at which the shape is high again, from the present phase on; the present one where it is high now."""
    turn = (np.floor(pulse.phase[rows] * BINS).astype(np.int64)[:, None] + np.arange(BINS)) % BINS
    ahead = np.take_along_axis(pulse.shape_w[rows], turn, axis=1) + pulse.level_w[rows, None]
    top, bottom = ahead.max(axis=1), ahead.min(axis=1)
    high = ahead >= (top - 0.4 * (top - bottom))[:, None]
    first = high.argmax(axis=1)
    moved = turn[np.arange(len(rows)), first] / BINS
    return np.where(first == 0, pulse.phase[rows], moved)


def _phase(
    pulse: Pulse,
    x_w: Array,
    ok: Array,
    low: Array,
    covered: Array,
    floor_w: Array,
    max_w: Array,
    every: Array,
) -> None:
    live = np.isfinite(pulse.period) & ~pulse.in_dip
    period = np.where(live, pulse.period, 100.0)
    step = 1.0 / period
    middle = (pulse.phase - 0.5 * step) % 1.0
    now_w = pulse.shape_w[every, (middle * BINS).astype(np.int64) % BINS] + pulse.level_w
    after = (pulse.phase + 0.5 * step) % 1.0
    next_w = pulse.shape_w[every, (after * BINS).astype(np.int64) % BINS] + pulse.level_w
    line = pulse.plateau_w - LOW_SHARE * np.maximum(pulse.plateau_w - floor_w, 0.05 * max_w)
    with np.errstate(invalid="ignore"):
        late_rise = low & (now_w < line) & (next_w >= line) & (pulse.held < HOLD_LOW * period)
        late_fall = ~low & (now_w >= line) & (next_w < line) & (pulse.held < HOLD_HIGH * period)
        hold = live & ok & ~covered & (period >= LEAST_PERIOD_TO_HOLD) & (late_rise | late_fall)
    pulse.held[:] = np.where(hold, pulse.held + 1, 0.0)
    moves = np.where(live & ~hold, step, 0.0)
    pulse.phase[:] = (pulse.phase + moves) % 1.0
    pulse.run_phase[:] = np.where(low, pulse.run_phase + moves, 0.0)
    rows = np.flatnonzero(live & ok)
    centre = (pulse.phase[rows] - 0.5 * step[rows]) % 1.0
    at = (centre * BINS).astype(np.int64) % BINS
    shape, level = pulse.shape_w[rows, at].astype(np.float64), pulse.level_w[rows]
    rest = x_w[rows] - shape - level
    rest = np.where(covered[rows], np.maximum(rest, 0.0), rest)
    bounded = np.clip(rest, -0.1 * max_w[rows], 0.1 * max_w[rows])
    pulse.level_w[rows] = level + LEVEL_GAIN * bounded
    seen = pulse.visits[rows, at] + 1.0
    gain = np.maximum(1.0 / (seen + 1.0), 1.0 / np.maximum(6.0 * period[rows] / BINS, 6.0))
    pulse.shape_w[rows, at] = shape + gain * rest
    pulse.visits[rows, at] = seen
