"""Level and damped trend of every group, one array step a second; ETS(A,Ad,N) in statsmodels' form."""

from dataclasses import dataclass

import numpy as np

from easyrider_forecaster.core.arrays import HORIZONS_S, Array, Rowed

_STEEPEST = 0.05
"""Largest believed trend, share of the device maximum per second: damping alone does not bound a wrong fit."""


@dataclass(frozen=True, slots=True)
class LevelParameters:
    """Smoothing of level and trend, and damping of the trend; a fit outside the stable region is refused."""

    alpha: float
    beta: float
    phi: float

    @property
    def stable(self) -> bool:
        """0 < alpha <= 1, 0 <= beta <= alpha, 0 <= phi <= 0.98 (an undamped trend runs away in 30 s)."""
        return 0.0 < self.alpha <= 1.0 and 0.0 <= self.beta <= self.alpha and 0.0 <= self.phi <= 0.98


UNFITTED = LevelParameters(alpha=0.3, beta=0.0, phi=0.9)


class Levels(Rowed):
    """State of the recursion for demand (column 0) and draw (column 1), and each row's parameters."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.level_w = self.column("level_w", (2,), np.float64, np.nan)
        self.trend_w = self.column("trend_w", (2,), np.float64, 0.0)
        self.alpha = self.column("alpha", (), np.float64, UNFITTED.alpha)
        self.beta = self.column("beta", (), np.float64, UNFITTED.beta)
        self.phi = self.column("phi", (), np.float64, UNFITTED.phi)
        self.fitted = self.column("fitted", (), np.bool_, False)
        self.error_w = self.column("error_w", (), np.float64, np.nan)
        self.usual_error_w = self.column("usual_error_w", (), np.float64, np.nan)

    def take(self, row: int, parameters: LevelParameters) -> bool:
        """Use fitted parameters from now on; False where they are unstable and the old ones stay."""
        if not parameters.stable:
            return False
        self.alpha[row], self.beta[row], self.phi[row] = parameters.alpha, parameters.beta, parameters.phi
        self.fitted[row] = True
        self.usual_error_w[row] = self.error_w[row]
        return True

    def step(self, means_w: Array, floor_w: Array, ceiling_w: Array) -> None:
        """Take one second's means, (rows, 2); NaN is a gap and changes nothing. Bounded to [floor, ceiling]."""
        phi, valid = self.phi[:, None], np.isfinite(means_w)
        first = valid & ~np.isfinite(self.level_w)
        self.level_w[first], self.trend_w[first] = means_w[first], 0.0
        ahead = self.level_w + phi * self.trend_w
        error = np.where(valid, means_w - ahead, 0.0)
        steepest = _STEEPEST * ceiling_w[:, None]
        level = np.where(valid, ahead + self.alpha[:, None] * error, self.level_w)
        trend = np.where(valid, phi * self.trend_w + self.beta[:, None] * error, self.trend_w)
        self.level_w[:] = np.clip(level, floor_w[:, None], ceiling_w[:, None])
        self.trend_w[:] = np.clip(trend, -steepest, steepest)
        miss = np.abs(error[:, 0])
        for name, weight in (("error_w", 1 / 20), ("usual_error_w", 1 / 300)):
            kept: Array = getattr(self, name)
            moved = np.where(np.isfinite(kept), kept + weight * (miss - kept), miss)
            kept[:] = np.where(valid[:, 0], moved, kept)

    def follow_limit(self, rows: Array, limit_w: Array) -> None:
        """Draw of rows whose limit moved: what is wanted, seen through the new limit."""
        self.level_w[rows, 1] = np.minimum(self.level_w[rows, 0], limit_w[rows])
        self.trend_w[rows, 1] = 0.0

    def drifted(self) -> Array:
        """True where the error of late is twice the usual: the fit is out of date."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.error_w > 2.0 * self.usual_error_w + 1.0)

    def means(self, column: int) -> Array:
        """Expected mean over each horizon, (rows, horizons): level plus the sum of the damped trend."""
        phi = self.phi[:, None]
        steps = np.asarray(HORIZONS_S, np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            reach = phi / (1 - phi) * (1 - phi * (1 - phi**steps) / (steps * (1 - phi)))
        return np.asarray(self.level_w[:, column, None] + reach * self.trend_w[:, column, None])
