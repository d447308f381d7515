"""Power fields that repeat themselves while the board warms: no measurement any more, whoever sent it."""

import numpy as np

from easyrider_forecaster.core.arrays import Array, Rowed

_FLAT_S = 10.0
_WARMS_C = 5.0
_SAME = 0.005


class Stuck(Rowed):
    """One row a board: the value that a field has shown since when, and how warm the board was then.

    Flat alone is no fault, an idle board is flat. Flat to the last digit for 10 s while the board warms by 5 degC
    is one; it ends with the first other value. Telemetry marks such samples too; this is for those that did not.
    """

    def __init__(self) -> None:
        super().__init__(0)
        self.stuck = self.column("stuck", (), np.bool_, False)
        self._power_w = self.column("_power_w", (), np.float64, np.nan)
        self._since_s = self.column("_since_s", (), np.float64, np.inf)
        self._from_c = self.column("_from_c", (), np.float64, np.nan)

    def take(self, rows: Array, at_s: float, instant_w: Array, temperature_c: Array | None) -> None:
        """One frame: (samples, boards) of the power field, (boards,) in degC where it carries them; NaN: unknown."""
        low_w, high_w = np.fmin.reduce(instant_w, axis=0), np.fmax.reduce(instant_w, axis=0)
        heard = np.isfinite(low_w)
        same = heard & (low_w == high_w) & (low_w == self._power_w[rows])
        anew = rows[heard & ~same]
        self._power_w[anew], self._since_s[anew] = instant_w[-1, heard & ~same], at_s
        self._from_c[anew] = np.nan
        self.stuck[anew] = False
        if temperature_c is None:
            return
        first = np.isnan(self._from_c[rows])
        self._from_c[rows[first]] = temperature_c[first]
        with np.errstate(invalid="ignore"):
            warms = temperature_c - self._from_c[rows] >= _WARMS_C
        self.stuck[rows[same & warms & (at_s - self._since_s[rows] >= _FLAT_S)]] = True

    def blank(self, rows: Array, mean_w: Array, instant_w: Array) -> int:
        """Make gaps of what stuck fields say, in place, and of means that were made of it; cells of `instant_w`."""
        columns = np.flatnonzero(self.stuck[rows])
        if not len(columns):
            return 0
        with np.errstate(invalid="ignore"):
            made = np.abs(mean_w[:, columns] - instant_w[:, columns]) <= _SAME * instant_w[:, columns]
        mean_w[:, columns] = np.where(made, np.nan, mean_w[:, columns])
        instant_w[:, columns] = np.nan
        return int(instant_w[:, columns].size)
