"""The judge of the planner's bench: speed of a job from its own quadrature of the curve's slope, and the peer.

It shares no code with the planner: slope points, integral and sums are written out here.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, hstack

Floats = NDArray[np.float64]

POINTS = (
    (0.33, 1.79),
    (0.565, 1.44),
    (0.64, 0.667),
    (0.705, 0.571),
    (0.79, 0.40),
    (0.92, 0.3125),
    (1.0, 0.22),
)
SEGMENTS = 16


def speed(ratio: Floats, busy: Floats) -> Floats:
    """Speed of jobs at `ratio` (0.33-1) of their natural draw, `busy` of their time at it."""
    plain = np.ones_like(ratio)
    for (low, g_low), (high, g_high) in pairwise(POINTS):
        a = np.clip(ratio, low, high)
        at_a = g_low + (g_high - g_low) * (a - low) / (high - low)
        plain -= (high - a) * (at_a + g_high) / 2
    return np.asarray(1.0 / ((1.0 - busy) + busy / plain))


def floor_ratio(least_speed: float, busy: Floats) -> Floats:
    """The ratio (J,) at which jobs run at `least_speed`, by bisection."""
    low, high = np.full(busy.shape, 0.33), np.ones(busy.shape)
    for _ in range(50):
        middle = (low + high) / 2
        slow = speed(middle, busy) < least_speed
        low, high = np.where(slow, middle, low), np.where(slow, high, middle)
    return high


def lost_pct(ratio: Floats, busy: Floats, worth: Floats) -> float:
    """Weighted work lost, in per cent."""
    return float(100.0 * (1.0 - np.sum(worth * speed(ratio, busy)) / np.sum(worth)))


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Question:
    """Jobs collapsed: least and most W per GPU (J,), wall W per W of a job on each domain (D, J), room (D,)."""

    peak_w: Floats
    busy: Floats
    worth: Floats
    floor_w: Floats
    weight: csr_matrix
    room_w: Floats


def highs(question: Question) -> Floats:
    """W per GPU (J,) by SciPy's HiGHS on the piecewise-linear problem of 16 chords a job."""
    q = question
    knots = q.floor_w[:, None] + (q.peak_w - q.floor_w)[:, None] * np.linspace(0, 1, SEGMENTS + 1)
    values = speed(knots / q.peak_w[:, None], np.repeat(q.busy[:, None], SEGMENTS + 1, axis=1))
    lengths = np.maximum(np.diff(knots, axis=1), 1e-12)
    gain = q.worth[:, None] * np.diff(values, axis=1) / lengths
    rows = hstack([q.weight] * SEGMENTS).tocsr()
    answer = linprog(
        -gain.T.ravel(),
        A_ub=rows,
        b_ub=q.room_w - q.weight @ q.floor_w,
        bounds=np.stack([np.zeros(lengths.size), lengths.T.ravel()], axis=1),
        method="highs",
    )
    if answer.x is None:
        raise RuntimeError(f"HiGHS gave no answer: {answer.message}")
    return np.asarray(q.floor_w + answer.x.reshape(SEGMENTS, -1).sum(axis=0))
