"""Guarded autoregression on one-second means: a few rows are fitted each second, all are forecast by one product.

Least squares with a little shrinking over the last five minutes. The recursion is linear, so the mean over every
horizon is a fixed combination of the last values: that combination is what is kept. A row whose fit is unstable, or
that has too few values without gaps, says nothing.
"""

import numpy as np

from easyrider_forecaster.core.arrays import HORIZONS_S, Array, Rowed, cohort
from easyrider_forecaster.core.history import History

ORDER = 8
LEAST = 60
"""Seconds whose own value and the `ORDER` before it are all known; fewer are not fitted."""
_SHRINK = 0.02
"""Share of the variance that is added to it: one period fits eight lags too well."""
_MOST_REFLECTED = 0.995
"""All reflection coefficients of a stable recursion are below one (Schur and Cohn)."""
EVERY = 60
"""Seconds between two fits of a row."""
_AT_ONCE = 64
"""Rows whose windows are laid out in memory together: 700 KB."""


class Regression(Rowed):
    """What each of the last `ORDER` seconds, newest first, weighs in the mean over each horizon; and a constant."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.weight = self.column("weight", (len(HORIZONS_S), ORDER), np.float32, np.nan)
        self.constant_w = self.column("constant_w", (len(HORIZONS_S),), np.float32, np.nan)

    def learn(self, history: History) -> None:
        """Fit the rows whose turn it is."""
        rows = cohort(self.rows, history.block, EVERY)
        for first in range(0, len(rows), _AT_ONCE):
            self._fit(history, rows[first : first + _AT_ONCE])

    def _fit(self, history: History, rows: Array) -> None:
        means_w = history.last_seconds(rows)
        known = np.isfinite(means_w)
        run = np.cumsum(np.pad(known, ((0, 0), (1, 0))), axis=1)
        whole = run[:, ORDER + 1 :] - run[:, : -ORDER - 1] == ORDER + 1
        number = whole.sum(axis=1)
        middle_w = np.where(known, means_w, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        about_w = np.where(known, means_w - middle_w[:, None], 0.0)
        lagged = [about_w[:, lag : lag + whole.shape[1]] * whole for lag in range(ORDER + 1)]
        seen = np.stack(lagged, axis=1).astype(np.float32)
        moments = np.matmul(seen, seen.transpose(0, 2, 1)).astype(np.float64)
        within, across = moments[:, :ORDER, :ORDER], moments[:, :ORDER, ORDER:]
        spread = np.trace(within, axis1=1, axis2=2) / ORDER
        ready = (number >= LEAST) & (spread > number)  # a constant repeats itself without help
        within = within + (_SHRINK * spread + 1.0)[:, None, None] * np.eye(ORDER)
        lags = np.linalg.solve(within, across)[:, ::-1, 0]
        ready &= _stable(lags)
        lags = np.where(ready[:, None], lags, 0.0)
        weight, held = _ahead(lags)
        self.weight[rows] = np.where(ready[:, None, None], weight, np.nan)
        self.constant_w[rows] = np.where(ready[:, None], held * middle_w[:, None], np.nan)

    def means(self, history: History) -> Array:
        """Mean over each horizon, (rows, horizons); NaN where nothing is said."""
        newest = history.last_seconds(np.arange(self.rows), ORDER)[:, ::-1]
        return np.asarray(np.matmul(self.weight, newest[:, :, None])[:, :, 0] + self.constant_w)


def _stable(lags: Array) -> Array:
    """Whether the recursion dies out, (rows,); `lags` (rows, order), the newest first."""
    left, stable = lags.copy(), np.isfinite(lags).all(axis=1)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        for order in range(lags.shape[1], 0, -1):
            last = left[:, order - 1]
            stable &= np.abs(last) < _MOST_REFLECTED
            rest = left[:, : order - 1]
            room = np.where(stable, 1.0 - last**2, 1.0)[:, None]
            left = np.where(stable[:, None], (rest + last[:, None] * rest[:, ::-1]) / room, 0.0)
    return np.asarray(stable)


def _ahead(lags: Array) -> tuple[Array, Array]:
    """Weights of the last values in the mean over each horizon, (rows, horizons, order), and of the middle."""
    rows, order = lags.shape
    state = np.broadcast_to(
        np.eye(order), (rows, order, order)
    ).copy()  # what each value is made of, newest first
    total, weight, held = np.zeros((rows, order)), [], []
    for step in range(1, HORIZONS_S[-1] + 1):
        newest = np.matmul(lags[:, None, :], state)[:, 0]
        state = np.concatenate((newest[:, None], state[:, :-1]), axis=1)
        total += newest
        if step in HORIZONS_S:
            weight.append(total / step)
            held.append(1.0 - total.sum(axis=1) / step)
    return np.stack(weight, axis=1), np.stack(held, axis=1)
