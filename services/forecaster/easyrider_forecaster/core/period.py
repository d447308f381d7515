"""Iteration periods, many series at once: found by one estimator, doubted by a second, believed when they hold."""

from dataclasses import dataclass

import numpy as np

from easyrider_forecaster.core import harmonics, likeness
from easyrider_forecaster.core.arrays import SLOT_S, Array, Rowed

_FIRST_OF_BEST = 0.82
_PROMINENT = 0.2
"""Least height of a peak over the valley before it."""
_HIGH = 0.3
"""Least height of the best peak; the queue of an inference service reaches 0.2 by chance."""
_SHORTEST_SLOTS = 1.5
_LEAST_PRESENT = 0.7
_LEAST_SLOTS = 60
_AGREE = 0.08
_GONE_AFTER = 3
_SHORT_S = 1.2
"""Below it a period that was found may be a multiple of the true one: between slots there is little to see."""
_WHOLE = 0.06
_CHUNK = 64
"""Rows of a transform; more do not fit the cache."""


@dataclass(frozen=True, slots=True)
class Found:
    """`period_s` (rows,), NaN where there is none; `agreed`: the second estimator says the same within 8 %."""

    period_s: Array
    agreed: Array


def detect(values: Array) -> Found:
    """Periods of (rows, samples) at 10 Hz; gaps (NaN, infinite) carry no weight, more than 30 % of them, and
    under 6 s, say none.

    Source: autocorrelation normalised by the pairs present, first peak >= 0.82 of the best; below 1.2 s the
    harmonic sum where the ratio of the two is whole. The harmonic sum is the second estimator too.
    """
    if values.shape[1] < _LEAST_SLOTS:
        return Found(np.full(len(values), np.nan), np.zeros(len(values), np.bool_))
    parts = [_detect(values[first : first + _CHUNK]) for first in range(0, len(values), _CHUNK)]
    if not parts:
        return Found(np.empty(0), np.empty(0, np.bool_))
    return Found(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def find(values: Array) -> Array:
    """Period in s of each row of (rows, samples), NaN where there is none; without the second opinion."""
    return detect(values).period_s


def _detect(values: Array) -> tuple[Array, Array]:
    samples = values.shape[1]
    power, alike, number = likeness.spectra(values)
    found_s = _first_peak(alike)
    found_s[number < _LEAST_PRESENT * samples] = np.nan
    pitch_s = harmonics.pitch(power, likeness.size(samples), likeness.longest(samples) * SLOT_S)
    with np.errstate(invalid="ignore"):
        ratio = found_s / pitch_s
        times = np.rint(ratio)
        multiple = (found_s < _SHORT_S) & (times >= 2) & (np.abs(ratio - times) <= _WHOLE * times)
        period_s = np.where(multiple & (pitch_s >= _SHORTEST_SLOTS * SLOT_S), pitch_s, found_s)
        return period_s, np.abs(pitch_s - period_s) <= _AGREE * period_s


def _first_peak(alike: Array) -> Array:
    """Lag of the first peak nearly as high as the best, s; by fifths of a slot at first, by slots farther out."""
    near, to_a_slot, slots = likeness.between(alike)
    slots = min(slots, alike.shape[1] - 2)
    near_valley = np.minimum.accumulate(near, axis=1)[:, :-1]
    near_heights = _heights(near, near_valley)
    near_heights[:, : int(_SHORTEST_SLOTS * to_a_slot) - 1] = -np.inf
    far = alike[:, slots - 1 :]
    far_valley = np.minimum(np.minimum.accumulate(far, axis=1)[:, :-1], near_valley[:, -1:])
    far_heights = _heights(far, far_valley)
    best = np.maximum(near_heights.max(axis=1), far_heights.max(axis=1))
    near_fit = near_heights >= _FIRST_OF_BEST * best[:, None]
    at_near, at_far = near_fit.argmax(axis=1), (far_heights >= _FIRST_OF_BEST * best[:, None]).argmax(axis=1)
    lag_slots = np.where(
        near_fit.any(axis=1),
        (at_near + 1 + _beside(near, at_near)) / to_a_slot,
        at_far + slots + _beside(far, at_far),
    )
    return np.where(best >= _HIGH, lag_slots * SLOT_S, np.nan)


def _heights(curve: Array, valley: Array) -> Array:
    """Height of every peak that stands out of the valley before it, else -inf: (rows, lags - 2)."""
    inner = curve[:, 1:-1]
    is_peak = (inner > curve[:, :-2]) & (inner >= curve[:, 2:]) & (inner - valley[:, 1:] > _PROMINENT)
    return np.where(is_peak, inner, -np.inf)


def _beside(curve: Array, at: Array) -> Array:
    """How far beside its highest sample (`at` + 1) a peak lies, by a parabola, in steps of the curve."""
    rows = np.arange(len(curve))
    left, middle, right = curve[rows, at], curve[rows, at + 1], curve[rows, at + 2]
    bend = left - 2 * middle + right
    beside = np.where(bend < 0, 0.5 * (left - right) / np.where(bend < 0, bend, 1.0), 0.0)
    return np.asarray(np.clip(beside, -0.5, 0.5))


class Periods(Rowed):
    """The believed period of every row, changed only when two runs agree within 8 %, or by what was announced.

    `agreement` is the share of late runs in which both estimators said the same; 1 for what was announced.
    A row that is `held` keeps the period it was given, whatever is found, until it is released.
    """

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.period_s = self.column("period_s", (), np.float64, np.nan)
        self.agreement = self.column("agreement", (), np.float64, np.nan)
        self.announced = self.column("announced", (), np.bool_, False)
        self.unsettled = self.column("unsettled", (), np.bool_, False)
        self.too_fast = self.column("too_fast", (), np.bool_, False)
        self.runs = self.column("runs", (), np.int64, 0)
        self.held = self.column("held", (), np.bool_, False)
        self._candidate_s = self.column("_candidate_s", (), np.float64, np.nan)
        self._silent = self.column("_silent", (), np.int64, 0)

    def take(
        self,
        rows: Array,
        found_s: Array,
        refresh_s: Array,
        agreed: Array | None = None,
        announced_s: Array | None = None,
    ) -> None:
        """Results of one run, (len(rows),) each. A period under two of `refresh_s` is not observable.

        `announced_s` is what phase marks say (NaN: nothing); it goes before what was found, as far as
        the sensor can show it.
        """
        if announced_s is not None:
            told = np.isfinite(announced_s)
            found_s = np.where(told, announced_s, found_s)
            agreed = np.ones(len(rows), np.bool_) if agreed is None else agreed | told
        else:
            told = np.zeros(len(rows), np.bool_)
        with np.errstate(invalid="ignore"):
            fast = found_s < 2 * refresh_s - 1e-6
            agree = np.abs(found_s - self._candidate_s[rows]) <= _AGREE * found_s
            same = np.abs(found_s - self.period_s[rows]) <= _AGREE * found_s
        found_s = np.where(fast, np.nan, found_s)
        none = np.isnan(found_s)
        self.runs[rows] += 1
        self.too_fast[rows] = fast
        self._silent[rows] = np.where(none, self._silent[rows] + 1, 0)
        old, held = self.period_s[rows], self.held[rows]
        eased = old + 0.5 * (found_s - old)
        new = np.where(same & ~none, eased, np.where(agree & ~none, found_s, old))
        new = np.where(told, found_s, new)
        new = np.where(fast | (self._silent[rows] >= _GONE_AFTER), np.nan, new)
        self.period_s[rows] = np.where(held & ~told, old, new)
        self.unsettled[rows] = ~none & ~same & ~agree & ~told & ~held
        self.announced[rows] = told & ~fast
        self._candidate_s[rows] = found_s
        if agreed is not None:
            self._weigh(rows[~none], agreed[~none])

    def _weigh(self, rows: Array, agreed: Array) -> None:
        before = self.agreement[rows]
        fresh = np.isnan(before)
        self.agreement[rows] = np.where(fresh, agreed, before + 0.3 * (agreed - before))
