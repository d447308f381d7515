"""Weights of rival forecasts by their rolling error; the outcome of origin t enters at t + h and not before."""

import numpy as np

from easyrider_forecaster.core.arrays import HORIZONS_S, Array, Rowed

ORIGINS = HORIZONS_S[-1] + 2
_FORGET = 2.0 ** (-1 / 120)
_SHARPNESS = 2.0
_MEMORY = 120


class Mix(Rowed):
    """One weighted combination per row and horizon, and the forecasts made at the last origins."""

    def __init__(self, rows: int, first_loss: tuple[float, ...]) -> None:
        super().__init__(rows)
        experts, horizons = len(first_loss), len(HORIZONS_S)
        self.loss = self.column("loss", (horizons, experts), np.float64, np.asarray(first_loss))
        self.error_w = self.column("error_w", (horizons,), np.float64, np.nan)
        self.rival_error_w = self.column("rival_error_w", (horizons,), np.float64, np.nan)
        self.scored = self.column("scored", (horizons,), np.int64, 0)
        self._made = self.column("_made", (ORIGINS, horizons, experts), np.float32, np.nan)
        self._said = self.column("_said", (ORIGINS, horizons), np.float32, np.nan)

    def weigh(self, rivals: Array) -> Array:
        """The combination, (rows, horizons); NaN only where no rival has a value."""
        have = ~np.isnan(rivals)
        gain = np.exp(-_SHARPNESS * (self.loss - self.loss.min(axis=2, keepdims=True))) * have
        weight = gain.sum(axis=2)
        mixed = (gain * np.where(have, rivals, 0.0)).sum(axis=2)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(weight > 0, mixed / weight, np.nan)

    def best(self, horizon: int) -> Array:
        """Index of the heaviest rival of each row."""
        return np.asarray(self.loss[:, horizon].argmin(axis=1))

    def keep(self, block: int, rivals: Array, said: Array) -> None:
        """Remember what was forecast at the end of `block`."""
        self._made[:, block % ORIGINS] = rivals
        self._said[:, block % ORIGINS] = said

    def score(self, block: int, horizon: int, outcome_w: Array, valid: Array, rating_w: Array) -> None:
        """Compare what was said `HORIZONS_S[horizon]` blocks before `block` with what came, (rows,).

        Rows that are not `valid` learn nothing: gaps, hidden samples and moved limits are no verdict.
        """
        origin = (block - HORIZONS_S[horizon]) % ORIGINS
        made, said = self._made[:, origin, horizon], self._said[:, origin, horizon]
        rows = np.flatnonzero(valid & np.isfinite(said) & np.isfinite(outcome_w))
        if not len(rows):
            return
        outcome = outcome_w[rows]
        number = self.scored[rows, horizon] = self.scored[rows, horizon] + 1
        pace = 1.0 / np.minimum(number, _MEMORY)
        for kept, forecast in ((self.error_w, said[rows]), (self.rival_error_w, made[rows, 0])):
            miss, old = np.abs(forecast - outcome), kept[rows, horizon]
            kept[rows, horizon] = np.where(np.isfinite(old), old + pace * (miss - old), miss)
        scale = np.maximum(np.maximum(self.error_w[rows, horizon], 1e-3 * rating_w[rows]), 0.1)
        misses = np.abs(made[rows] - outcome[:, None]) / scale[:, None]
        gain = 0.12 if HORIZONS_S[horizon] >= 30 else 0.2
        old = self.loss[rows, horizon]
        learned = _FORGET * old + gain * np.clip(misses, 0.0, 8.0)
        self.loss[rows, horizon] = np.where(np.isnan(misses), old, learned)
