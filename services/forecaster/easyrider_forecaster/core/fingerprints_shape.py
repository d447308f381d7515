"""The shape of one iteration that is worth remembering: the one that iterations before it were most like.

The shape that is followed while a job runs is a running mean, and blurs where iterations vary in length; for a
fingerprint it stands beside whole iterations as they were measured, and the best of them is kept.
"""

from dataclasses import dataclass

import numpy as np

from easyrider.fingerprints import BINS
from easyrider_forecaster.core.arrays import Array

CANDIDATES, JUDGES = 3, 4
_LEAST_JUDGES = 2
_LEAST_SLOTS = 8.0
"""An iteration of fewer samples is no shape by itself; a mean over many is."""
_LEAST_SWING = 0.03


@dataclass(frozen=True, slots=True)
class Sketch:
    """Watts over an iteration, and how like it others were, in [0, 1]."""

    shape_w: Array
    score: float


def sketch(values_w: Array, period: float, followed_w: Array, max_w: float) -> Sketch | None:
    """The best shape of the newest iterations; `values_w` without pauses, oldest first, `period` in slots.

    None where there are too few iterations, or too much is missing.
    """
    values_w = np.asarray(values_w, np.float64)
    values_w = np.where(np.isfinite(values_w) & (np.abs(values_w) <= 2.0 * max_w), values_w, np.nan)
    if not (np.isfinite(period) and period >= 1.0):
        return None
    judges = min(JUDGES, int(len(values_w) / period) - CANDIDATES)
    if judges < _LEAST_JUDGES:
        return None
    shapes = [np.nan_to_num(np.asarray(followed_w, np.float64))]
    if period >= _LEAST_SLOTS:
        found = (_iteration(values_w, period, back) for back in range(CANDIDATES))
        shapes += [shape for shape in found if shape is not None]
    others = [
        _stretch(values_w, period, CANDIDATES + back, 1.0 if period >= 20.0 else 20.0 / period)
        for back in range(judges)
    ]
    others = [other for other in others if np.isfinite(other).mean() >= 0.8] if others else []
    if len(others) < _LEAST_JUDGES:
        return None
    scored = [
        Sketch(shape_w, float(np.mean([_score(shape_w, other, period, max_w) for other in others])))
        for shape_w in shapes
    ]
    return max(scored, key=lambda one: one.score)


def _stretch(values_w: Array, period: float, back: int, iterations: float) -> Array:
    end = len(values_w) - round(back * period)
    return values_w[max(end - round(iterations * period), 0) : max(end, 0)]


def _iteration(values_w: Array, period: float, back: int) -> Array | None:
    """One iteration as it was measured, over BINS points; None with a tenth of it missing."""
    one = _stretch(values_w, period, back, 1.0)
    there = np.flatnonzero(np.isfinite(one))
    if len(one) < 2 or len(there) < 0.9 * len(one):
        return None
    at = (np.arange(BINS) + 0.5) / BINS * len(one) - 0.5
    nearest = there[np.abs(there[:, None] - at).argmin(axis=0)]  # edges stay as sharp as they were
    return np.asarray(one[nearest])


def _score(shape_w: Array, other_w: Array, period: float, max_w: float) -> float:
    there = np.flatnonzero(np.isfinite(other_w))
    back = (len(other_w) - 1 - there) + 0.5
    phases = (np.arange(BINS) / BINS)[:, None] - back / period
    rest_w = other_w[there] - shape_w[np.floor(phases % 1.0 * BINS).astype(np.int64) % BINS]
    rest_w -= np.median(rest_w, axis=1)[:, None]
    off_w = float(np.abs(rest_w).mean(axis=1).min())
    swing_w = max(float(np.abs(shape_w - shape_w.mean()).mean()), _LEAST_SWING * max_w)
    return float(np.clip(1.0 - off_w / swing_w, 0.0, 1.0))
