"""Where in its iteration a group is, and what its shape says of the seconds ahead."""

import numpy as np

from easyrider_forecaster.core.arrays import HORIZONS_S, Array
from easyrider_forecaster.core.history import SLOTS, History
from easyrider_forecaster.core.pulse import BINS, Pulse

SHIFTS = np.linspace(-0.12, 0.12, 13)
POINTS = 24
LONGEST = 100.0
CAP_W = 150.0
GAIN = 0.7
_FOLDED_PERIODS = 6.0
_FOLDED_SLOTS = 120
SAME_PERIOD = 0.08


def search(pulse: Pulse, history: History) -> None:
    """Shift the phase of every row so that the last period (at most 10 s) fits its shape best."""
    span = np.minimum(pulse.period, LONGEST)
    with np.errstate(invalid="ignore"):
        rows = np.flatnonzero(np.isfinite(span) & ~pulse.in_dip & (pulse.quiet >= span))
    if not len(rows):
        return
    back = np.floor(np.arange(POINTS) * (span[rows, None] / POINTS)).astype(np.int64)
    seen_w = history.demand.value[rows[:, None], (history.end - 1 - back) % SLOTS]
    rest_w = seen_w - pulse.level_w[rows, None]
    phases = pulse.phase[rows, None] - (back + 0.5) / pulse.period[rows, None]
    cost = np.empty((len(rows), len(SHIFTS)))
    for column, shift in enumerate(SHIFTS):
        at = np.floor((phases + shift) % 1.0 * BINS).astype(np.int64) % BINS
        miss = np.abs(rest_w - pulse.shape_w[rows[:, None], at])
        cost[:, column] = np.nansum(np.minimum(miss, CAP_W), axis=1) + 1.0 * abs(shift)
    pulse.phase[rows] = (pulse.phase[rows] + GAIN * SHIFTS[cost.argmin(axis=1)]) % 1.0


def adopt(pulse: Pulse, history: History, row: int, period: float) -> None:
    """A new period in slots: the shape is the folded mean of the last six, outside dips; phase 0 is now."""
    slots = int(min(max(_FOLDED_PERIODS * period, _FOLDED_SLOTS), SLOTS - 10, int(pulse.heard[row])))
    back = np.arange(slots)
    at = (history.end - 1 - back) % SLOTS
    value = history.demand.value[row, at].astype(np.float64)
    calm = ~history.dip[row, at] & np.isfinite(value)
    value = value[calm]
    passed = np.cumsum(calm)[calm] - 1  # dips stop the iteration, so they stop the count
    pulse.period[row] = period
    pulse.phase[row], pulse.level_w[row], pulse.held[row] = 0.0, 0.0, 0.0
    if not len(value):
        pulse.period[row] = np.nan
        return
    bins = np.floor((-(passed + 0.5) / period) % 1.0 * BINS).astype(np.int64) % BINS
    number = np.bincount(bins, minlength=BINS)
    total = np.bincount(bins, weights=value, minlength=BINS)
    full = np.flatnonzero(number)
    means = total[full] / number[full]
    round_ = np.concatenate((full - BINS, full, full + BINS))
    pulse.shape_w[row] = np.interp(np.arange(BINS), round_, np.tile(means, 3))
    pulse.visits[row] = number


def cumulative(pulse: Pulse) -> Array:
    """Running sum of the shape over its bins, (rows, BINS + 1), in units of a whole period."""
    total = np.zeros((pulse.rows, BINS + 1))
    np.cumsum(pulse.shape_w, axis=1, out=total[:, 1:])
    return total / BINS


def run_means(pulse: Pulse, total: Array, seconds: Array) -> Array:
    """Mean of the shape over the next `seconds`, (rows, n) of each; NaN without a period."""
    with np.errstate(invalid="ignore"):
        ahead = np.maximum(10.0 * seconds / pulse.period[:, None], 1e-6)
    return arc_means(total, pulse.phase[:, None], ahead) + pulse.level_w[:, None]


def last_means(pulse: Pulse, total: Array) -> Array:
    """Mean of the shape over the last second, (rows,); NaN without a period."""
    second = 10.0 / pulse.period[:, None]
    return (arc_means(total, pulse.phase[:, None] - second, second) + pulse.level_w[:, None])[:, 0]


def arc_means(total: Array, begin: Array, ahead: Array) -> Array:
    """Mean of what was summed up in `total` from phase `begin` on over `ahead` periods."""
    return np.asarray((_integral(total, begin + ahead) - _integral(total, begin)) / ahead)


def arc_tops(pulse: Pulse) -> Array:
    """Highest point of the shape within each horizon, (rows, horizons); NaN without a period."""
    turn = (np.floor(pulse.phase * BINS).astype(np.int64)[:, None] + np.arange(BINS)) % BINS
    ahead = np.maximum.accumulate(np.take_along_axis(pulse.shape_w, turn, axis=1), axis=1)
    tops = np.empty((pulse.rows, len(HORIZONS_S)))
    every = np.arange(pulse.rows)
    known = np.isfinite(pulse.period)
    period = np.where(known, pulse.period, 1.0)
    for column, horizon_s in enumerate(HORIZONS_S):
        last = np.minimum(np.floor(10.0 * horizon_s / period * BINS), BINS - 1).astype(np.int64)
        tops[:, column] = ahead[every, last] + pulse.level_w
    return np.where(known[:, None], tops, np.nan)


def next_edges_s(pulse: Pulse, low_line_w: Array) -> tuple[Array, Array]:
    """Seconds until the shape next rises over and falls below the line; NaN where it does neither."""
    turn = (np.floor(pulse.phase * BINS).astype(np.int64)[:, None] + np.arange(BINS + 1)) % BINS
    ahead = np.take_along_axis(pulse.shape_w, turn, axis=1) + pulse.level_w[:, None]
    with np.errstate(invalid="ignore"):
        high = ahead >= low_line_w[:, None]
    within = (pulse.phase * BINS) % 1.0
    edges = []
    for up in (True, False):
        crossing = (high[:, 1:] & ~high[:, :-1]) if up else (~high[:, 1:] & high[:, :-1])
        first = crossing.argmax(axis=1)
        wait_s = np.maximum(first + 1 - within, 0.0) / BINS * pulse.period * 0.1
        edges.append(np.where(crossing.any(axis=1), wait_s, np.nan))
    return edges[0], edges[1]


def _integral(total: Array, phase: Array) -> Array:
    known = np.isfinite(phase)
    phase = np.where(known, phase, 0.0)
    whole = np.floor(phase)
    at = (phase - whole) * BINS
    low = np.minimum(at.astype(np.int64), BINS - 1)
    before = np.take_along_axis(total, low, axis=1)
    after = np.take_along_axis(total, low + 1, axis=1)
    value = whole * total[:, -1:] + before + (at - low) * (after - before)
    return np.where(known, value, np.nan)
