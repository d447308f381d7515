"""What an interval's mean should be kept to: no lower than pays, counting every interval left in the month.

A peak is billed once a month, while holding it costs work in each interval that would have gone above. So an aim is
judged over all of them: what the bill rises by, against the work lost in this interval and in as many more as are
left, taken to be like those seen lately. Without a past each one left is taken to be like this one.
"""

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from easyrider.tariffs import DemandWindow
from easyrider_policy.core import curves

Floats = NDArray[np.float64]

AIMS: Final = 65
PAYS: Final = 1.05
"""Throttling begins where it pays by so much: a guess that is a little off must not cost work for nothing."""
GRAIN: Final = 0.005
"""Of the natural draw: ceilings move in such steps."""
_BUSY: Final = np.full(1, curves.BUSY_CLASSES - 1, dtype=np.int64)


class Interval(NamedTuple):
    """Unix seconds by our clock."""

    begins_s: float
    ends_s: float


def interval_at(window: DemandWindow, unix_s: float) -> Interval:
    """The interval of the meter's clock that this moment falls into."""
    length_s = window.interval_min * 60.0
    begins_s = math.floor((unix_s + window.clock_ahead_s) / length_s) * length_s - window.clock_ahead_s
    return Interval(begins_s, begins_s + length_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One domain now, wall watts: what nobody can take away, what is drawn if nothing limits, and whose work it is."""

    standing_w: float
    natural_w: float
    least_w: float  # with every job at its minimum
    weighted_gpus: float

    def lost_gpus(self, natural_w: Floats, held_w: Floats) -> Floats:
        """GPUs' worth of work lost while `natural_w` is held to `held_w`, elementwise; jobs as if always busy."""
        spare_w = np.maximum(natural_w - self.standing_w, 1e-9)
        ratio = np.clip((np.minimum(held_w, natural_w) - self.standing_w) / spare_w, 0.0, 1.0)
        speed = curves.speed(ratio.ravel(), np.broadcast_to(_BUSY, ratio.size)).reshape(ratio.shape)
        return np.where(ratio < 1.0, self.weighted_gpus * (1.0 - speed), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """What a higher mean would cost. `past_w`: natural means of intervals lately; `intervals_left` after this one."""

    billed_w: float
    price_per_kw: float
    work_price_per_gpu_h: float
    past_w: Floats
    intervals_left: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """The mean to close at, the draw that leads there from now on, and what it is expected to save and cost."""

    aim_w: float
    ceiling_w: float
    saves: float
    costs: float


def choose(load: Load, bill: Bill, energy_j: float, left_s: float, length_s: float) -> Aim | None:
    """The aim that pays best from here; None: let it run, nothing would be saved by more than it cost."""
    natural_close_w = (energy_j + load.natural_w * left_s) / length_s
    if bill.price_per_kw <= 0 or natural_close_w <= bill.billed_w or left_s <= 0:
        return None
    past_w = bill.past_w if len(bill.past_w) else np.array([natural_close_w])
    top_w = max(natural_close_w, float(past_w.max()))
    lowest_w = min(max(bill.billed_w, (energy_j + load.least_w * left_s) / length_s), natural_close_w)
    aims_w = np.concatenate([np.linspace(lowest_w, natural_close_w, AIMS), [top_w]])
    ceilings_w = np.clip((aims_w * length_s - energy_j) / left_s, load.least_w, load.natural_w)
    closes_w = np.maximum(aims_w, (energy_j + ceilings_w * left_s) / length_s)
    charges = bill.price_per_kw * np.maximum(closes_w - bill.billed_w, 0.0) / 1e3
    now = load.lost_gpus(np.full(len(aims_w), load.natural_w), ceilings_w) * left_s / 3600.0
    later = load.lost_gpus(past_w[None, :], aims_w[:, None]).mean(axis=1) * length_s / 3600.0
    works = bill.work_price_per_gpu_h * (now + bill.intervals_left * later)
    best = len(aims_w) - 1 - int(np.argmin((charges + works)[::-1]))
    saves, costs = float(charges[-1] - charges[best]), float(works[best])
    if aims_w[best] >= natural_close_w or not saves > PAYS * costs:
        return None
    step_w = max(1.0, GRAIN * load.natural_w)
    ceiling_w = max(load.least_w, math.floor(float(ceilings_w[best]) / step_w) * step_w)
    return Aim(aim_w=float(aims_w[best]), ceiling_w=ceiling_w, saves=saves, costs=costs)
