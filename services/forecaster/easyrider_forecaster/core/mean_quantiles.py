"""Quantiles of the mean over each horizon, beside the forecast of it: margins that step at every outcome.

A margin rises by the share it is to hold where the mean came out above it, and falls by the rest where it did not, so
in the long run it holds as often as it says, whatever the load does. Source: online quantile tracking by the gradient
of the pinball loss (Gibbs and Candes 2021; Angelopoulos and others 2023).
"""

import numpy as np

from easyrider_forecaster.core.arrays import HORIZONS_S, Array, Rowed

LEVELS = (0.5, 0.9, 0.99)
_SHARES = np.array(LEVELS)
_START = np.array([0.0, 0.01, 0.03])
"""Margins of the start as shares of the rating."""
_STEP = 0.2 / np.sqrt(HORIZONS_S)
"""Per horizon: windows that overlap tell the same again, and a margin that chases them is behind all the while."""
_PACE = 0.02
_LEAST = 2e-4
"""Share of the rating below which no error is believed: steps would vanish on a constant."""


class MeanQuantiles(Rowed):
    """One margin a row, horizon and level; watts per GPU."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self._margin_w = self.column("_margin_w", (len(HORIZONS_S), len(LEVELS)), np.float32, np.nan)
        self._scale_w = self.column("_scale_w", (len(HORIZONS_S),), np.float32, np.nan)

    def around(self, mean_w: Array, rating_w: Array) -> Array:
        """(rows, horizons) forecasts -> (rows, horizons, LEVELS), a higher level never lower, 0 W to the rating."""
        start_w = _START * rating_w[:, None, None]
        margin_w = np.where(np.isfinite(self._margin_w), self._margin_w, start_w)
        said_w = np.maximum.accumulate(mean_w[:, :, None] + margin_w, axis=2)
        return np.asarray(np.clip(said_w, 0.0, rating_w[:, None, None]))

    def score(self, column: int, said_w: Array, came_w: Array, valid: Array, rating_w: Array) -> None:
        """What came of a forecast of one horizon, (rows,); rows that are not `valid` learn nothing."""
        rows = np.flatnonzero(valid & np.isfinite(said_w) & np.isfinite(came_w))
        if not len(rows):
            return
        rating_w = rating_w[rows]
        off_w = came_w[rows] - said_w[rows]
        scale_w = self._scale_w[rows, column]
        size_w = np.minimum(np.abs(off_w), 0.2 * rating_w)
        scale_w = np.where(np.isfinite(scale_w), scale_w + _PACE * (size_w - scale_w), size_w)
        scale_w = np.maximum(scale_w, _LEAST * rating_w)
        margin_w = self._margin_w[rows, column].astype(np.float64)
        margin_w = np.where(np.isfinite(margin_w), margin_w, _START * rating_w[:, None])
        above = off_w[:, None] > margin_w
        margin_w += _STEP[column] * scale_w[:, None] * (_SHARES - ~above)
        most_w = 0.5 * rating_w[:, None]
        self._margin_w[rows, column] = np.clip(margin_w, -most_w, most_w)
        self._scale_w[rows, column] = scale_w
