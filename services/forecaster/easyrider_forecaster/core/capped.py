"""What a limit in force takes off the mean that is wanted."""

import numpy as np

from easyrider_forecaster.core import phase
from easyrider_forecaster.core.arrays import HORIZONS_S, Array
from easyrider_forecaster.core.history import SLOTS, History
from easyrider_forecaster.core.pulse import BINS, Pulse

_OVERSHOOT = 1.03
"""The most that a board in order draws over its limit; the planner counts with it (decision 30)."""
_STEPS = np.asarray(HORIZONS_S, np.float64)
_WINDOW = 100


def excess_w(history: History, pulse: Pulse, limit_w: Array, mean_w: Array, top_w: Array) -> Array:
    """Watts of the mean over each horizon that lie above the limit, (rows, horizons).

    From the shape of an iteration where there is one, else as a share of the mean, from the last 10 s.
    `top_w` (rows,) is the highest of the last minute.
    """
    taken_w = np.zeros((history.rows, len(HORIZONS_S)))
    rows = np.flatnonzero(top_w > limit_w)
    if not len(rows):
        return taken_w
    at = np.arange(history.end - _WINDOW, history.end) % SLOTS
    recent = history.demand.value[rows[:, None], at]
    over = np.maximum(recent - limit_w[rows, None], 0.0)
    total = np.where(np.isfinite(recent), recent, 0.0).sum(axis=1)
    share = np.where(np.isfinite(over), over, 0.0).sum(axis=1) / np.maximum(total, 1.0)
    taken_w[rows] = share[:, None] * mean_w[rows]
    shaped = rows[np.isfinite(pulse.period[rows]) & ~pulse.in_dip[rows]]
    if len(shaped):
        above = np.maximum(pulse.shape_w[shaped] + pulse.level_w[shaped, None] - limit_w[shaped, None], 0.0)
        total_w = np.zeros((len(shaped), BINS + 1))
        np.cumsum(above, axis=1, out=total_w[:, 1:])
        ahead = 10.0 * _STEPS / pulse.period[shaped, None]
        taken_w[shaped] = phase.arc_means(total_w / BINS, pulse.phase[shaped, None], ahead)
    return np.where(np.isfinite(taken_w), taken_w, 0.0)


def as_limited_w(peak_w: Array, limit_w: Array) -> Array:
    """Peaks as limits mean them, to be held against bounds that are cut there: a board's overshoot is not said."""
    with np.errstate(invalid="ignore"):
        over = (peak_w > limit_w) & (peak_w <= _OVERSHOOT * limit_w)
    return np.where(over, limit_w, peak_w)
