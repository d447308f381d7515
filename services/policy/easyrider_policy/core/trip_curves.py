"""How long the protective device of every domain carries what it carries now: all curves as one table.

log(time) is linear in the multiple of capacity between a curve's points, as in `timing.allowed_s`, which this equals
row by row. Multiples are of what a device carries now, not of what stands on its plate.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from easyrider.tree import COOLING_S, Domain, TripCurve

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class TripCurves:
    """D curves. `known` (D,): it has one; `cooling_s` (D,): with which it cools within its capacity."""

    def __init__(self, domains: Sequence[Domain]) -> None:
        curves = [sorted(d.trip_points, key=lambda point: point.multiple) for d in domains]
        deepest = max((len(points) for points in curves), default=0)
        self.known: Bools = np.array([bool(points) for points in curves], dtype=np.bool_)
        self.cooling_s: Floats = np.array([_cooling_s(d) for d in domains], dtype=np.float64)
        self._count = np.array([len(points) for points in curves], dtype=np.int64)
        self._multiple: Floats = np.full((len(curves), max(deepest, 1)), np.inf)
        self._log_s: Floats = np.zeros((len(curves), max(deepest, 1)))
        for row, points in enumerate(curves):
            self._multiple[row, : len(points)] = [point.multiple for point in points]
            self._log_s[row, : len(points)] = np.log([point.time_s for point in points])

    def allowed_s(self, multiple: Floats) -> Floats:
        """Seconds (D,) that each multiple (D,) is carried: inf within capacity, 0 beyond a curve's last point.

        NaN where there is no curve, or the multiple is not known.
        """
        rows = np.arange(len(multiple))
        with np.errstate(invalid="ignore"):
            below = (self._multiple < multiple[:, None]).sum(axis=1)  # points that are exceeded
        right = np.minimum(below, np.maximum(self._count - 1, 0))
        left = np.maximum(right - 1, 0)
        m0, m1 = self._multiple[rows, left], self._multiple[rows, right]
        with np.errstate(invalid="ignore", divide="ignore"):
            part = np.where(right > left, (multiple - m0) / (m1 - m0), 0.0)
            part = np.where(below == 0, 1.0, part)  # up to the first point it holds as long as at that point
            log_s = self._log_s[rows, left] + part * (self._log_s[rows, right] - self._log_s[rows, left])
            held_s = np.where(below >= self._count, 0.0, np.exp(log_s))
            held_s = np.where(multiple <= 1.0, np.inf, held_s)
        return np.where(
            self.known & np.isfinite(multiple), held_s, np.where(self.known & (multiple > 1), 0.0, np.nan)
        )


def _cooling_s(domain: Domain) -> float:
    return domain.curve.cooling_s if isinstance(domain.curve, TripCurve) else COOLING_S
