"""How fast a job runs at a share of its natural draw, and the share it is worth holding at a price.

One smooth concave curve s(r): its slope g falls linearly between the points below and s(1) = 1, within 2.5
points of the speeds measured on A100 boards under LLM training. Smooth, so that prices are unique and
limits do not flip between the corners of a table; concave, so that prices find the optimum.

A job that computes for the share f of its time and waits for the rest runs at
S(r) = 1 / ((1 - f) + f / s(r)). Shares come in classes of 1/32, so that all is looked up in tables.

Jobs are not alike: there is a bank of shapes, flatter ones for work that waits for memory, steeper ones up to
speed in proportion to watts above what a board draws anyway. A curve's class is 33 x its shape + its busy class;
shape 0 is the default. All are concave and rise, so whatever is learned stays within safe bounds.
"""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SLOPE_AT: Final = np.array([0.33, 0.565, 0.64, 0.705, 0.79, 0.92, 1.0])
SLOPE: Final = np.array([1.79, 1.44, 0.667, 0.571, 0.40, 0.3125, 0.22])

BUSY_CLASSES: Final = 33
LEAST_BUSY: Final = 4 / 32
"""Below an eighth of its time at full draw a job is treated as if it were an eighth: its curve is never flat."""
STEEPNESS: Final = (0.0, -0.75, -0.5, -0.25, 0.25, 0.5, 0.75, 1.0)
"""By shape. Below 0 so much less work is lost than by default, above it so much of the curve is a straight line."""
SHAPES: Final = len(STEEPNESS)
_STRAIGHT_FROM: Final = 0.15
_RATIO_MIN: Final = 0.20
_STEPS: Final = 800
_RATIO: Final = np.linspace(_RATIO_MIN, 1.0, _STEPS + 1)
_PER_RATIO: Final = _STEPS / (1.0 - _RATIO_MIN)
_LOG_LOW: Final = math.log(0.005)
_LOG_STEPS: Final = 1024
_LOG_HIGH: Final = math.log(8.0)
_PER_LOG: Final = _LOG_STEPS / (_LOG_HIGH - _LOG_LOW)


def _plain_speed() -> Floats:
    slope = np.interp(_RATIO, SLOPE_AT, SLOPE)
    low = SLOPE_AT[0] > _RATIO
    # Below the lowest point the slope goes on rising as it did, so that the curve stays concave.
    slope[low] = SLOPE[0] + (SLOPE_AT[0] - _RATIO[low]) * (SLOPE[0] - SLOPE[1]) / (SLOPE_AT[1] - SLOPE_AT[0])
    rise = (slope[1:] + slope[:-1]) / 2 / _PER_RATIO
    speed = 1.0 - np.concatenate([np.cumsum(rise[::-1])[::-1], [0.0]])
    return np.maximum(speed, 0.02)


def _shaped(plain: Floats, steepness: float) -> Floats:
    if steepness < 0:
        return 1.0 - (1.0 + steepness) * (1.0 - plain)
    straight = (_RATIO - _STRAIGHT_FROM) / (1.0 - _STRAIGHT_FROM)
    return (1.0 - steepness) * plain + steepness * straight


def _tables() -> tuple[Floats, Floats, Floats, Floats]:
    busy = np.maximum(np.arange(BUSY_CLASSES) / (BUSY_CLASSES - 1), LEAST_BUSY)[:, None]
    wanted = np.exp(np.linspace(_LOG_LOW, _LOG_HIGH, _LOG_STEPS + 1))
    plain = _plain_speed()
    shapes = np.array([_shaped(plain, steepness) for steepness in STEEPNESS])
    speeds, marginals, shares = [], [], []
    for shape in shapes:
        speed = 1.0 / ((1.0 - busy) + busy / shape)
        marginal = busy * speed**2 * np.gradient(shape, _RATIO) / shape**2
        marginal = np.minimum.accumulate(marginal, axis=1)
        speeds.append(speed)
        marginals.append(marginal)
        shares += [np.interp(wanted, row[::-1], _RATIO[::-1]) for row in marginal]
    return shapes, np.concatenate(speeds), np.concatenate(marginals), np.array(shares)


_PLAIN, _SPEED, _MARGINAL, _SHARE = _tables()


def busy_class(busy: Floats) -> Ints:
    """Classes (0-32) of busy shares."""
    return np.clip(np.rint(busy * (BUSY_CLASSES - 1)), 0, BUSY_CLASSES - 1).astype(np.int64)


def speed(ratio: Floats, busy: Ints) -> Floats:
    """Speed (0-1) of jobs held at `ratio` of their natural draw, elementwise; `busy` are classes of curves."""
    return _lookup(_SPEED, ratio, busy)


def marginal(ratio: Floats, busy: Ints) -> Floats:
    """Speed per unit of ratio at `ratio`, falling in it."""
    return _lookup(_MARGINAL, ratio, busy)


def share_at(log_marginal: Floats, busy: Ints) -> Floats:
    """The ratio (0.2-1) at which a unit more is worth exp(`log_marginal`); 1 where all is worth more."""
    at = np.clip((log_marginal - _LOG_LOW) * _PER_LOG, 0.0, _LOG_STEPS - 1e-9)
    cell = at.astype(np.int64)
    part = at - cell
    flat = _SHARE.ravel()
    index = busy * (_LOG_STEPS + 1) + cell
    low = flat[index]
    result: Floats = low + part * (flat[index + 1] - low)
    return result


def shares_along(log_marginal: Floats, log_price: Floats, busy: Ints) -> Floats:
    """`share_at` of each sum of both, (n, K), to the nearest entry: for prices, which need no more."""
    row = busy * (_LOG_STEPS + 1)
    cell = np.rint((log_marginal - _LOG_LOW) * _PER_LOG).astype(np.int64) + row
    index = cell[:, None] + np.rint(log_price * _PER_LOG).astype(np.int64)[None, :]
    np.maximum(index, row[:, None], out=index)
    np.minimum(index, (row + _LOG_STEPS)[:, None], out=index)
    shares: Floats = _SHARE.ravel().take(index)
    return shares


def share_and_fall(log_marginal: Floats, busy: Ints) -> tuple[Floats, Floats]:
    """`share_at`, and how much it falls per unit of `log_marginal`, as a positive number."""
    at = np.clip((log_marginal - _LOG_LOW) * _PER_LOG, 0.0, _LOG_STEPS - 1e-9)
    cell = at.astype(np.int64)
    flat = _SHARE.ravel()
    index = busy * (_LOG_STEPS + 1) + cell
    low = flat[index]
    rise = flat[index + 1] - low
    return low + (at - cell) * rise, -rise * _PER_LOG


def least_share(least_speed: Floats, busy: Ints) -> Floats:
    """The lowest ratio at which jobs still run at `least_speed`."""
    part = np.maximum((busy % BUSY_CLASSES) / (BUSY_CLASSES - 1), LEAST_BUSY)
    waits = 1.0 / np.clip(least_speed, 0.02, 1.0) - (1.0 - part)  # time left for computing, 1 = uncapped all
    shape, plain = busy // BUSY_CLASSES, part / waits
    least = np.interp(plain, _PLAIN[0], _RATIO)
    for other in np.unique(shape[shape > 0]).tolist():
        mine = shape == other
        least[mine] = np.interp(plain[mine], _PLAIN[other], _RATIO)
    return least


def speed_of_shapes(ratio: Floats, busy: Ints) -> Floats:
    """Speed (SHAPES, n) of jobs at `ratio` (n,) by every shape; `busy` (n,) are busy classes."""
    rows = np.arange(SHAPES)[:, None] * BUSY_CLASSES + busy[None, :]
    return _lookup(_SPEED, np.broadcast_to(ratio, rows.shape), rows)


def natural_busy(seen_busy: Floats, plain_ratio: Floats) -> Floats:
    """Busy share as if uncapped: held at `plain_ratio` of its draw, computing takes longer and waiting does not."""
    slow = _lookup(_SPEED, plain_ratio, np.full(plain_ratio.shape, BUSY_CLASSES - 1, dtype=np.int64))
    result: Floats = seen_busy * slow / ((1.0 - seen_busy) + seen_busy * slow)
    return result


def _lookup(table: Floats, ratio: Floats, busy: Ints) -> Floats:
    at = np.minimum(np.maximum((ratio - _RATIO_MIN) * _PER_RATIO, 0.0), _STEPS - 1e-9)
    cell = at.astype(np.int64)
    flat = table.ravel()
    index = busy * (_STEPS + 1) + cell
    low = flat[index]
    result: Floats = low + (at - cell) * (flat[index + 1] - low)
    return result
