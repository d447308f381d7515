"""What the shape of every row says of the last second and of its next edges (see `phase`)."""

import math

from easyrider_forecaster.core.arrays import Array
from easyrider_forecaster.core.pulse import BINS


def last_means(
    period: Array, phase: Array, level_w: Array, shape_w: Array, last_w: Array, whole_w: Array
) -> None:
    """Mean of the shape over the last second and of the whole; both written."""
    for row in range(len(period)):
        whole = 0.0
        for bin_ in range(BINS):
            whole += shape_w[row, bin_]
        whole_w[row] = whole / BINS + level_w[row]
        if not math.isfinite(period[row]):
            last_w[row] = math.nan
            continue
        second = 10.0 / period[row]
        far = 0.0
        for side in range(2):
            at = phase[row] - (second if side == 0 else 0.0)
            turns = math.floor(at)
            at = (at - turns) * BINS
            last = min(int(at), BINS - 1)
            part = 0.0
            for bin_ in range(last):
                part += shape_w[row, bin_]
            part += (at - last) * shape_w[row, last] + turns * whole
            far += part if side == 1 else -part
        last_w[row] = far / BINS / second + level_w[row]


def edges(
    period: Array, phase: Array, level_w: Array, shape_w: Array, line_w: Array, rise_s: Array, fall_s: Array
) -> None:
    """Seconds until the shape rises over and falls below the line; the last two are written."""
    for row in range(len(period)):
        rise_s[row] = fall_s[row] = math.nan
        if not math.isfinite(period[row]) or math.isnan(line_w[row]):
            continue
        at = phase[row] * BINS
        first = math.floor(at)
        within = at % 1.0
        before = shape_w[row, first % BINS] + level_w[row] >= line_w[row]
        for far in range(BINS):
            after = shape_w[row, (first + far + 1) % BINS] + level_w[row] >= line_w[row]
            wait_s = max(far + 1 - within, 0.0) / BINS * period[row] * 0.1
            if after and not before and math.isnan(rise_s[row]):
                rise_s[row] = wait_s
            if before and not after and math.isnan(fall_s[row]):
                fall_s[row] = wait_s
            before = after
