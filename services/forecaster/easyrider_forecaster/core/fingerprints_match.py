"""Whether what a job shows is what its fingerprint says: in its first seconds, and over a whole run."""

from dataclasses import dataclass

import numpy as np

from easyrider.fingerprints import BINS, Fingerprint
from easyrider_forecaster.core.arrays import SLOT_S, Array

FITS = 0.5
"""From here on a fingerprint is the job's."""
LEVEL = 0.10
PERIOD = 0.08
_PEAK = 0.12
_LEAST_SWING = 0.03
"""Of the device maximum: what a shape is held against at least."""
_LEAST_SLOTS, _WINDOW_SLOTS = 20, 25
_ITERATIONS = 3.0
_AMBIGUOUS, _PLACED = 0.1, 0.1
_BACK = (np.arange(BINS) / BINS)[:, None]


@dataclass(frozen=True, slots=True)
class Fit:
    """`score` in [0, 1]; where in the iteration the last sample ended, [0, 1), and how far above the shape."""

    score: float
    phase: float = 0.0
    level_w: float = 0.0
    placed: bool = True  # no phase far from this one fits nearly as well


def early(known: Fingerprint, values_w: Array) -> Fit | None:
    """How the newest samples (oldest first, 0.1 s, of the work alone) fit; None while they say nothing yet.

    The iteration may begin anywhere: every phase is tried. Its level may lie off by a tenth, once half an
    iteration was seen. Values that are not finite are gaps.
    """
    period = (known.period_s or 0.0) / SLOT_S
    # over many iterations a period that is a hundredth off is out of step
    slots = int(max(_ITERATIONS * period, _WINDOW_SLOTS)) if period else len(values_w)
    values_w = np.asarray(values_w, np.float64)[-slots:]
    there = np.isfinite(values_w) & (np.abs(values_w) < 1e6)
    if there.sum() < _LEAST_SLOTS:
        return None
    if known.period_s is None or not known.shape_w:
        usual_w = known.mean_w if known.calm_w is None else known.calm_w
        off_w = abs(float(values_w[there].mean()) - usual_w)
        return Fit(_score(off_w, LEVEL * usual_w + 2.0 * known.spread_w))
    shape = np.asarray(known.shape_w)
    back = (len(values_w) - 1 - np.flatnonzero(there)) + 0.5
    at = np.floor((_BACK - back / period) % 1.0 * BINS).astype(np.int64) % BINS
    rest_w = values_w[there] - shape[at]
    level_w = np.zeros(BINS)
    if len(values_w) >= 0.5 * period:
        most_w = LEVEL * float(shape.mean())
        level_w = np.clip(np.median(rest_w, axis=1), -most_w, most_w)
    cost_w = np.abs(rest_w - level_w[:, None]).mean(axis=1)
    best = int(cost_w.argmin())
    swing_w = max(float(np.abs(shape - shape.mean()).mean()), _LEAST_SWING * known.max_w)
    near = np.flatnonzero(cost_w <= cost_w[best] + _AMBIGUOUS * swing_w)
    away = np.abs(near - best)
    placed = bool(np.minimum(away, BINS - away).max() <= _PLACED * BINS)
    return Fit(_score(float(cost_w[best]), 0.5 * swing_w), best / BINS, float(level_w[best]), placed)


def alike(old: Fingerprint, new: Fingerprint) -> float:
    """How far a run is what is remembered, in [0, 1]: the worst of level, peak, period and shape.

    What a limit hid may have been higher: it is no proof against anything that lies above.
    """
    scores = [_level(old.mean_w, new.mean_w, new.hidden, LEVEL, old.spread_w)]
    if old.peak_w is not None and new.peak_w is not None:
        scores.append(_level(old.peak_w, new.peak_w, new.hidden, _PEAK, 0.0))
    if old.period_s and new.period_s:
        slower = new.period_s / old.period_s - 1.0
        if not (new.hidden > 0.05 and slower > 0):  # a limit makes iterations longer
            scores.append(_score(abs(slower), PERIOD))
        if new.hidden <= 0.05:
            scores.append(_shapes(old, new))
    return min(scores)


def turned(shape_w: Array, like_w: Array) -> tuple[Array, float]:
    """The shape turned so that it lies best on another, and the mean distance left over."""
    turns = (np.arange(BINS)[:, None] + np.arange(BINS)) % BINS
    off_w = np.abs(shape_w[turns] - like_w).mean(axis=1)
    best = int(off_w.argmin())
    return shape_w[turns[best]], float(off_w[best])


def _shapes(old: Fingerprint, new: Fingerprint) -> float:
    shape, like = np.asarray(new.shape_w), np.asarray(old.shape_w)
    _, off_w = turned(shape - shape.mean(), like - like.mean())
    swing_w = max(float(np.abs(like - like.mean()).mean()), _LEAST_SWING * old.max_w)
    return _score(off_w, 0.5 * swing_w)


def _level(old_w: float, new_w: float, hidden: float, share: float, spread_w: float) -> float:
    if hidden > 0.05 and new_w < old_w:
        return 1.0
    return _score(abs(new_w - old_w), share * old_w + spread_w)


def _score(off: float, tolerance: float) -> float:
    """1 where nothing is off, one half at the tolerance, 0 at twice that."""
    return float(np.clip(1.0 - 0.5 * off / max(tolerance, 1e-9), 0.0, 1.0))
