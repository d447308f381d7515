"""Iteration periods by autocorrelation, many series at once: the first peak nearly as high as the best."""

import numpy as np

from easyrider_forecaster.core.arrays import SLOT_S, Array, Rowed

_FIRST_OF_BEST = 0.82
_LONGEST_SLOTS = 400
_PROMINENT = 0.2
"""Least height of a peak over the valley before it; noise of 1,200 samples stays below 0.1."""
_LEAST_PRESENT = 0.7
_AGREE = 0.08
_GONE_AFTER = 3


def find(values: Array) -> Array:
    """Period in s of each row of (rows, samples) at 10 Hz, NaN where there is none.

    Gaps (NaN) carry no weight. Source: autocorrelation normalised by the pairs present, first peak >= 0.82
    of the best; between slots by a parabola.
    """
    present = ~np.isnan(values)
    number = present.sum(axis=1)
    centre = np.nansum(values, axis=1) / np.maximum(number, 1)
    swing = np.where(present, values - centre[:, None], 0.0)
    size = 1 << int(2 * values.shape[1] - 1).bit_length()
    longest = min(_LONGEST_SLOTS, values.shape[1] // 2)
    pairs = np.arange(values.shape[1], values.shape[1] - longest - 2, -1.0)[None, :]
    if not present.all():
        pairs = np.maximum(_correlate(present.astype(np.float64), size, longest), 1.0)
    matched = _correlate(swing, size, longest) / pairs
    with np.errstate(invalid="ignore", divide="ignore"):
        alike = np.where(matched[:, :1] > 0.01, matched / matched[:, :1], 0.0)
    valley = np.minimum.accumulate(alike, axis=1)[:, :-1]
    inner = alike[:, 1:-1]
    is_peak = (inner > alike[:, :-2]) & (inner >= alike[:, 2:]) & (inner - valley[:, 1:] > _PROMINENT)
    heights = np.where(is_peak, inner, -np.inf)
    best = heights.max(axis=1)
    first = (heights >= _FIRST_OF_BEST * best[:, None]).argmax(axis=1)
    rows = np.arange(len(values))
    left, middle, right = alike[rows, first], alike[rows, first + 1], alike[rows, first + 2]
    curve = left - 2 * middle + right
    shift = np.where(curve < 0, 0.5 * (left - right) / np.where(curve < 0, curve, 1.0), 0.0)
    found = np.isfinite(best) & (best > 0) & (number >= _LEAST_PRESENT * values.shape[1])
    return np.where(found, (first + 1 + np.clip(shift, -0.5, 0.5)) * SLOT_S, np.nan)


def _correlate(values: Array, size: int, longest: int) -> Array:
    spectrum = np.fft.rfft(values, size, axis=1)
    return np.asarray(np.fft.irfft(spectrum * spectrum.conj(), size, axis=1)[:, : longest + 2])


class Periods(Rowed):
    """The believed period of every row, changed only when two runs agree within 8 %."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.period_s = self.column("period_s", (), np.float64, np.nan)
        self.unsettled = self.column("unsettled", (), np.bool_, False)
        self.too_fast = self.column("too_fast", (), np.bool_, False)
        self.runs = self.column("runs", (), np.int64, 0)
        self._candidate_s = self.column("_candidate_s", (), np.float64, np.nan)
        self._silent = self.column("_silent", (), np.int64, 0)

    def take(self, rows: Array, found_s: Array, refresh_s: Array) -> None:
        """Results of one detector run; a period under two refreshes of its sensor is not observable."""
        with np.errstate(invalid="ignore"):
            fast = found_s < 2 * refresh_s - 1e-6
            agree = np.abs(found_s - self._candidate_s[rows]) <= _AGREE * found_s
            same = np.abs(found_s - self.period_s[rows]) <= _AGREE * found_s
        found_s = np.where(fast, np.nan, found_s)
        none = np.isnan(found_s)
        self.runs[rows] += 1
        self.too_fast[rows] = fast
        self._silent[rows] = np.where(none, self._silent[rows] + 1, 0)
        old = self.period_s[rows]
        eased = old + 0.5 * (found_s - old)
        new = np.where(same & ~none, eased, np.where(agree & ~none, found_s, old))
        self.period_s[rows] = np.where(fast | (self._silent[rows] >= _GONE_AFTER), np.nan, new)
        self.unsettled[rows] = ~none & ~same & ~agree
        self._candidate_s[rows] = found_s
