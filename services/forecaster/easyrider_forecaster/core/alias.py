"""False slow waves: a sensor window that slides across a fast square wave draws a smooth curve.

Kernels switch within milliseconds, so a true wave of seconds jumps from level to level between two refreshes and
rests on them. An alias climbs and falls: its readings lie everywhere between low and high, and none of its steps
is most of the way. Thresholds by simulation of kernels switched at up to five times the refresh rate (jitter up
to 3 %) against training loads of 0.4-20 s with one to four sub-steps; `bench/periods.py` counts what they miss.
"""

from dataclasses import dataclass

import numpy as np

from easyrider_forecaster.core.arrays import Array

LEAST_SLOTS = 100
_UNREAL_W = 1e9
_SWING = 0.05
"""Swings below this share of the device maximum are not judged."""
_MID_SHARE, _MID = 0.15, (0.15, 0.85)
_STEP = 0.7
"""The 99 % step of a true wave is nearly the whole range."""
_BINS, _WIDTH = 28, 6
_LEVELS = 0.5
"""Readings that crowd on levels hold more than this share of the middle within a fifth of it: a staircase."""
_MOVES, _GRADUAL, _CLIMBS = 0.08, 0.35, 0.15
_JUMP, _JUMPS, _SLOW = 0.5, 0.5, 0.1
BOARDS_ALIKE = 0.9
_SHOWN = 0.7
_CLEAN, _PARTIAL, _LEAST_JUMPS, _TRUE_SHARE = 0.1, (0.15, 0.85), 6, 0.4


@dataclass(frozen=True, slots=True)
class _Wave:
    """Readings scaled to their own 1-99 % range, changes between them, and what they were, row by row."""

    level: Array
    change: Array
    reach_w: Array
    number: Array


def suspect(instant_w: Array, rating_w: Array) -> Array:
    """True where the instant field of one board looks like an alias: (rows, samples) at 10 Hz -> (rows,).

    A truly smooth wave (four or more equal levels, ramps of many kernels) has the same shape; what can tell them
    apart is not in this field. Gaps are NaN; fewer than 100 readings are not judged.
    """
    wave = _wave(instant_w)
    judged = (wave.reach_w > _SWING * rating_w) & (wave.number >= LEAST_SLOTS)
    smooth = np.zeros(len(instant_w), np.bool_)
    rows = np.flatnonzero(judged)
    if len(rows):
        smooth[rows] = _is_smooth(wave.level[rows], wave.change[rows], wave.number[rows])
    return smooth


def boards_agree(power_w: Array, unlike_w2: Array, boards: Array) -> Array:
    """True where at least four boards swing together: their clocks differ, so aliases would not.

    `power_w` is the group's mean and `unlike_w2` the variance between its boards, (rows, samples). Where nine
    tenths of the swing of a minute are common, periods are equal within 1 % and phases too.
    """
    power_w, unlike_w2 = _finite(power_w).astype(np.float64), np.asarray(unlike_w2, np.float64)
    present = np.isfinite(power_w)
    number = np.maximum(present.sum(axis=1), 1)
    centre = np.where(present, power_w, 0.0).sum(axis=1) / number
    swing = np.where(present, (power_w - centre[:, None]) ** 2, 0.0).sum(axis=1) / number
    apart = np.where(np.abs(unlike_w2) < _UNREAL_W, unlike_w2, 0.0).sum(axis=1) / number
    return np.asarray((boards >= 4) & (swing > 0) & (swing >= BOARDS_ALIKE * (swing + apart)))


def counter_is_true(energy_w: Array, instant_w: Array, rating_w: Array) -> Array:
    """True where the energy counter was seen to integrate between the looks of the instant field, (rows,).

    A counter that only adds up what the sensor samples knows no more than the sensor. At a clean jump of the
    instant field a true one gives a part of the jump in the 0.1 s that it falls into; six jumps are asked for.
    """
    if instant_w.shape[1] < LEAST_SLOTS:
        return np.zeros(len(instant_w), np.bool_)
    energy_w, instant_w = _finite(energy_w), _finite(instant_w)
    scale = rating_w[:, None]
    before, after = instant_w[:, 1:-3], instant_w[:, 3:-1]
    jump = after - before
    rests = np.abs(before - instant_w[:, :-4]), np.abs(instant_w[:, 4:] - after)
    middle = instant_w[:, 2:-2]
    at_edge = np.minimum(np.abs(middle - before), np.abs(middle - after))
    with np.errstate(invalid="ignore", divide="ignore"):
        size = np.abs(jump)
        clean = (size > 3 * _SWING * scale) & (at_edge < _CLEAN * size)
        clean &= (rests[0] < _CLEAN * size) & (rests[1] < _CLEAN * size)
        shares = [
            (energy_w[:, at : at + jump.shape[1]] - before) / np.where(size > 0, jump, np.nan)
            for at in (1, 2, 3)
        ]
        partial = np.any([(share > _PARTIAL[0]) & (share < _PARTIAL[1]) for share in shares], axis=0)
    jumps = clean.sum(axis=1)
    return np.asarray((jumps >= _LEAST_JUMPS) & ((clean & partial).sum(axis=1) >= _TRUE_SHARE * jumps))


def counter_shows(energy_w: Array, instant_w: Array) -> Array:
    """True where energy means swing by at least 0.7 of what the instant field swings (standard deviations), (rows,)."""
    shown_w = spread_w(instant_w)
    return np.asarray((shown_w > 0) & (spread_w(energy_w) >= _SHOWN * shown_w))


def spread_w(values_w: Array) -> Array:
    """Standard deviation of each row, gaps left out; 0 where there is nothing, (rows,)."""
    values = _finite(values_w)
    gaps = np.isnan(values)
    values[gaps] = 0.0
    number = np.maximum(values.shape[1] - gaps.sum(axis=1, dtype=np.float32), np.float32(1.0))
    values -= (values.sum(axis=1) / number)[:, None]
    values[gaps] = 0.0
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", values, values) / number))


def _wave(values_w: Array) -> _Wave:
    values = _finite(values_w)
    number = np.isfinite(values).sum(axis=1)
    ordered, rows, last = np.sort(values, axis=1), np.arange(len(values)), np.maximum(number - 1, 0)
    if not values.shape[1]:
        return _Wave(values, values, np.zeros(len(values)), number)
    low = ordered[rows, np.rint(0.01 * last).astype(np.int64)]
    high = ordered[rows, np.rint(0.99 * last).astype(np.int64)]
    with np.errstate(invalid="ignore", over="ignore"):
        reach = np.where(number > 0, high - low, np.float32(0.0))
        level = (values - low[:, None]) / np.where(reach > 0, reach, np.float32(1.0))[:, None]
        return _Wave(level, np.diff(level, axis=1), reach, number)


def _finite(values_w: Array) -> Array:
    """A copy in single precision; what no board draws is a gap."""
    with np.errstate(over="ignore"):
        values = np.asarray(values_w).astype(np.float32)
    values[~(np.abs(values) < _UNREAL_W)] = np.nan
    return values


def _is_smooth(level: Array, change: Array, number: Array) -> Array:
    with np.errstate(invalid="ignore"):
        middle = (level > _MID[0]) & (level < _MID[1])
        up, down, big = change > _MOVES, change < -_MOVES, np.abs(change) > _JUMP
    in_middle = middle.sum(axis=1)
    steps = np.sort(np.abs(change), axis=1)
    pairs = np.isfinite(change).sum(axis=1)
    step = steps[np.arange(len(steps)), (0.99 * np.maximum(pairs - 1, 0)).astype(np.int64)]
    climbs = np.minimum(_runs(up), _runs(down))
    jumps = np.maximum(_share(change, up, big), _share(-change, down, big))
    return np.asarray(
        (in_middle > _MID_SHARE * number)
        & (step < _STEP)
        & (_crowded(level, middle, in_middle) < _LEVELS)
        & ((jumps < _JUMPS) | (step < _SLOW))
        & ((step < _GRADUAL) | (climbs > _CLIMBS))
    )


def _runs(moves: Array) -> Array:
    """Share of moves in one direction that the next change continues."""
    return np.asarray((moves[:, :-1] & moves[:, 1:]).sum(axis=1) / np.maximum(moves.sum(axis=1), 1))


def _share(change: Array, moves: Array, big: Array) -> Array:
    """Share of the way in one direction that was made in jumps."""
    way = np.where(moves, change, 0.0).sum(axis=1)
    return np.asarray(np.where(moves & big, change, 0.0).sum(axis=1) / np.maximum(way, 1e-9))


def _crowded(level: Array, middle: Array, in_middle: Array) -> Array:
    """Largest share of the middle's readings within a fifth of it."""
    rows = len(level)
    place = np.where(middle, (level - _MID[0]) * (_BINS / (_MID[1] - _MID[0])), -1.0)
    bins = np.clip(place, -1, _BINS - 1).astype(np.int64) + 1 + (_BINS + 1) * np.arange(rows)[:, None]
    counts = np.bincount(bins.ravel(), minlength=rows * (_BINS + 1)).reshape(rows, _BINS + 1)[:, 1:]
    held = np.concatenate((np.zeros((rows, 1), np.int64), np.cumsum(counts, axis=1)), axis=1)
    fullest = (held[:, _WIDTH:] - held[:, :-_WIDTH]).max(axis=1)
    return np.asarray(fullest / np.maximum(in_middle, 1))
