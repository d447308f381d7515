"""Seconds of dip to be expected of every row (see `Dips.ahead`)."""

import math

import numpy as np

from easyrider_forecaster.core.arrays import HORIZONS_S, Array
from easyrider_forecaster.core.dips import (
    ANNOUNCED_TOLERANCE_S,
    DUE_PRIOR,
    HALF,
    LENGTHS,
    LONG_S,
    PRIOR_S,
    PRIOR_WEIGHT,
    TOLERANCE,
    TOLERANCE_S,
    UNLIKELY,
)  # fmt: skip

_KNOWN = len(PRIOR_S)
_HORIZONS = len(HORIZONS_S)


def ahead(
    clock: Array, in_dip: Array, dip_age: Array, lengths_s: Array, cadence_s: Array, anchor_s: Array, long_s: Array,
    announced_s: Array, due: Array, inside_s: Array, through: Array, until_s: Array, tolerance_s: Array, left_s: Array,
) -> None:  # fmt: skip
    """The last five are written."""
    left = np.empty(LENGTHS + _KNOWN + 1)
    weight = np.empty(LENGTHS + _KNOWN + 1)
    for row in range(len(clock)):
        now_s = clock[row] / 10.0
        off_s = max(TOLERANCE_S, TOLERANCE * cadence_s[row]) if cadence_s[row] > 0 else math.nan
        until = math.nan
        if math.isfinite(off_s) and math.isfinite(anchor_s[row]):
            turns = max(math.ceil((now_s - off_s - anchor_s[row]) / cadence_s[row]), 1.0)
            until = anchor_s[row] + turns * cadence_s[row] - now_s
        if math.isfinite(announced_s[row]) and announced_s[row] - now_s > -ANNOUNCED_TOLERANCE_S:
            until, off_s = announced_s[row] - now_s, ANNOUNCED_TOLERANCE_S
        until_s[row], tolerance_s[row], left_s[row] = until, off_s, math.nan
        if not in_dip[row]:
            longest = long_s[row] if math.isfinite(long_s[row]) else 10.0
            for column in range(_HORIZONS):
                inside = 0.0
                if math.isfinite(until):
                    inside = max(
                        min(HORIZONS_S[column] - max(until, 0.0), min(longest, HORIZONS_S[column])), 0.0
                    )
                inside_s[row, column], through[row, column] = inside, False
            continue
        age_s, number, any_long, total = dip_age[row] / 10.0, 0, False, 0.0
        for at in range(LENGTHS):
            any_long = any_long or lengths_s[row, at] >= LONG_S
        expected = due[row] and any_long
        for at in range(LENGTHS + _KNOWN + 1):
            if at < LENGTHS:
                length, share = lengths_s[row, at], 1.0
                if expected:
                    share = 1.0 if length >= LONG_S else 0.0
                elif math.isfinite(cadence_s[row]) and length >= LONG_S:
                    share = UNLIKELY
            else:
                length = PRIOR_S[at - LENGTHS] if at < LENGTHS + _KNOWN else 2.0 * age_s
                share = DUE_PRIOR if expected else PRIOR_WEIGHT
            if length > age_s:
                left[number], weight[number] = length - age_s, share
                total += share
                number += 1
        for column in range(_HORIZONS):
            horizon_s = float(HORIZONS_S[column])
            mean, outlasts = 0.0, 0.0
            for at in range(number):
                mean += weight[at] * min(left[at], horizon_s)
                outlasts += weight[at] * (left[at] >= horizon_s)
            if total > 0.0:
                inside_s[row, column], through[row, column] = mean / total, outlasts / total > HALF
            else:
                inside_s[row, column], through[row, column] = horizon_s, True
        left_s[row] = inside_s[row, _HORIZONS - 1]
