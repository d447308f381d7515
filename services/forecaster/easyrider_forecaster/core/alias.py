"""False slow waves: a sensor window that slides across a fast square wave draws a smooth curve."""

import numpy as np

from easyrider_forecaster.core.arrays import Array

_MID_SHARE = 0.15
_JUMP = 0.7
_BOARDS_ALIKE = 0.9


def suspect(instant_w: Array, rating_w: Array) -> Array:
    """True where the instant field of one board looks like an alias: (rows, samples) -> (rows,).

    Kernels switch within milliseconds, so a true wave of seconds jumps in one refresh; an alias passes
    through the middle of its range (share > 0.15 between 15 % and 85 %) and its 99 % step stays below 0.7 of
    the range. Swings under 5 % of the rating are not judged.
    """
    number = (~np.isnan(instant_w)).sum(axis=1)
    ordered = np.sort(instant_w, axis=1)
    rows = np.arange(len(instant_w))
    last = np.maximum(number - 1, 0)
    low = ordered[rows, np.rint(0.01 * last).astype(np.int64)]
    high = ordered[rows, np.rint(0.99 * last).astype(np.int64)]
    reach = high - low
    with np.errstate(invalid="ignore"):
        between = (instant_w > (low + 0.15 * reach)[:, None]) & (instant_w < (low + 0.85 * reach)[:, None])
        steps = np.sort(np.abs(np.diff(instant_w, axis=1)), axis=1)
        pairs = (~np.isnan(steps)).sum(axis=1)
        step = steps[rows, np.rint(0.99 * np.maximum(pairs - 1, 0)).astype(np.int64)]
        smooth = (between.sum(axis=1) > _MID_SHARE * number) & (step < _JUMP * reach)
        return np.asarray(smooth & (reach > 0.05 * rating_w) & (number >= 100))


def boards_agree(power_w: Array, unlike_w2: Array, boards: Array) -> Array:
    """True where at least four boards swing together: their clocks differ, so aliases would not.

    `power_w` is the group's mean and `unlike_w2` the variance between its boards, (rows, samples).
    """
    present = ~np.isnan(power_w)
    number = np.maximum(present.sum(axis=1), 1)
    centre = np.nansum(power_w, axis=1) / number
    swing = np.where(present, (power_w - centre[:, None]) ** 2, 0.0).sum(axis=1) / number
    apart = np.nansum(unlike_w2, axis=1) / number
    return np.asarray((boards >= 4) & (swing >= _BOARDS_ALIKE * (swing + apart)))
