"""How far the highest sample within a horizon lies above the highest point of the mean shape: its median so far."""

import numpy as np

from easyrider_forecaster.core.arrays import HORIZONS_S, Array, Rowed

_STEP = 0.1
_PACE = 0.02


class ArcBias(Rowed):
    """Watts to add to the arc of every row and horizon."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.bias_w = self.column("bias_w", (len(HORIZONS_S),), np.float32, 0.0)
        self._scale_w = self.column("_scale_w", (len(HORIZONS_S),), np.float32, 0.0)

    def score(self, column: int, peak_w: Array, arc_w: Array, valid: Array) -> None:
        """`arc_w` is what was said at the origin, bias included; NaN where nothing was."""
        rows = np.flatnonzero(valid & np.isfinite(arc_w) & np.isfinite(peak_w))
        if not len(rows):
            return
        miss_w = peak_w[rows] - arc_w[rows]
        scale_w = self._scale_w[rows, column]
        scale_w = np.where(scale_w > 0, scale_w + _PACE * (np.abs(miss_w) - scale_w), np.abs(miss_w))
        self._scale_w[rows, column] = scale_w
        self.bias_w[rows, column] += _STEP * np.sign(miss_w) * np.minimum(np.abs(miss_w), scale_w)
