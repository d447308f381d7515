"""What the oracle makes of the truth: the planner's own question, answered with what really comes.

For each job of a layout: the mean natural draw of its boards over the time ahead, its highest value, which share of
that time it computes, and what a limit would let it draw on the mean. For each domain: what may be drawn on the mean
over the time ahead, so that every mean of the window stays at the target.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np

from easyrider_bench.controllers.contract import Bools, Floats, Ints, Truth
from easyrider_policy.core import curves
from easyrider_policy.core.busy import NEAR_PEAK
from easyrider_policy.core.layout import Layout

WINDOW_S = 10.0
GIVES_BACK = 1.0
"""How much of what the window has left, or lacks, the time ahead may take: more swings, less wastes."""
_RATIOS: Floats = np.linspace(0.45, 1.0, 56)


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Ahead:
    """(J,) per board of each job."""

    natural_w: Floats  # (S, J)
    peak_w: Floats
    busy: Ints  # classes of the planner's curves that come nearest to the true one

    def duty(self, limit_w: Floats) -> Floats:
        """Mean draw per watt of limit (J,), at these limits."""
        top_w = np.minimum(np.maximum(limit_w, 1.0), self.peak_w)
        return np.asarray(np.minimum(self.natural_w, top_w).mean(axis=0) / top_w, dtype=np.float64)


class Curves:
    """The planner's class that comes nearest to a job which computes for a share of its time, by the true curves."""

    def __init__(self, truth: Truth) -> None:
        self._classes = np.array(
            [[nearest(truth, memory, busy) for busy in _SHARES] for memory in (False, True)]
        )

    def of(self, memory_bound: Bools, busy: Floats) -> Ints:
        """Classes (J,)."""
        rows = np.rint(busy * (len(_SHARES) - 1)).astype(np.intp)
        return np.asarray(self._classes[memory_bound.astype(np.intp), rows], dtype=np.int64)


_SHARES: Floats = np.linspace(0.0, 1.0, curves.BUSY_CLASSES)


def nearest(truth: Truth, memory_bound: bool, busy: float) -> int:
    """Where the squared distance between the job's true speed and that of a class is least."""
    plain = truth.speed(_RATIOS, np.full(len(_RATIOS), memory_bound))
    true = 1.0 / ((1.0 - busy) + busy / plain)
    classes = np.arange(curves.BUSY_CLASSES)
    told = curves.speed(_RATIOS[None, :], classes[:, None])
    return int(np.argmin(((told - true) ** 2).sum(axis=1)))


def ahead(layout: Layout, truth: Truth, known: Curves) -> Ahead:
    """The jobs of a layout over the time that can be seen ahead."""
    seats = truth.natural_w[:, layout.seat]
    mean_w = np.add.reduceat(seats, layout.job_start, axis=1) / layout.gpu_count
    peak_w = np.maximum(mean_w.max(axis=0), 1.0)
    computes = (mean_w > NEAR_PEAK * peak_w).mean(axis=0)
    memory = truth.memory_bound[layout.seat[layout.job_start]]
    return Ahead(natural_w=mean_w, peak_w=peak_w, busy=known.of(memory, computes))


class Window:
    """True walls (D,) of the last seconds: what the window has left for the time ahead."""

    def __init__(self, step_s: float) -> None:
        self._step_s = step_s
        self._walls: deque[Floats] = deque(maxlen=round(WINDOW_S / step_s))

    def add(self, wall_w: Floats) -> None:
        """What is drawn at this moment."""
        self._walls.append(wall_w)

    def left_w(self, target_w: Floats, ahead_s: float) -> Floats:
        """What may be drawn on the mean over `ahead_s` (D,), so that the window's mean comes to the target."""
        past = list(self._walls)[-round((WINDOW_S - ahead_s) / self._step_s) :]
        if not past:
            return target_w
        mean_w = np.mean(past, axis=0)
        most_w = (target_w * WINDOW_S - mean_w * (WINDOW_S - ahead_s)) / ahead_s
        wished_w = target_w + GIVES_BACK * (target_w - mean_w)
        return np.asarray(np.minimum(wished_w, most_w), dtype=np.float64)
