"""Heat of all protective devices of all runs, by their inverse-time curves, and when they open."""

import numpy as np

from easyrider_bench.cases import STEP_S
from easyrider_bench.controllers.contract import Bools, Floats
from easyrider_twin.domains import COOLING_S

Curve = tuple[tuple[float, float], ...]


class Breakers:
    """Arrays of shape (runs, domains); a domain without a curve never warms."""

    def __init__(self, curves: list[list[Curve]]) -> None:
        kinds = sorted({curve for run in curves for curve in run if curve})
        self._kinds = [
            (np.array(curve), np.array([[c == curve for c in run] for run in curves])) for curve in kinds
        ]
        shape = (len(curves), len(curves[0]))
        self._first = np.full(shape, np.inf)
        for points, mine in self._kinds:
            self._first[mine] = points[0, 0]
        self.heat = np.zeros(shape)
        self.heat_max = np.zeros(shape)
        self.opened = np.zeros(shape, dtype=np.bool_)

    def carry(self, multiple: Floats) -> Bools:
        """One step at so many times the capacity; devices that opened in it."""
        over = multiple >= self._first
        if not over.any() and not self.heat.any():
            return np.zeros(over.shape, dtype=np.bool_)
        rate = np.zeros(over.shape)
        for points, mine in self._kinds:
            hot = over & mine
            if hot.any():
                rate[hot] = 1.0 / times_to_trip_s(points, multiple[hot])
        self.heat = np.where(over, self.heat + STEP_S * rate, self.heat * np.exp(-STEP_S / COOLING_S))
        self.heat[self.heat < 1e-9] = 0.0
        self.heat_max = np.maximum(self.heat_max, self.heat)
        opens = (self.heat >= 1.0) & ~self.opened
        self.opened |= opens
        return opens


def times_to_trip_s(points: Floats, multiple: Floats) -> Floats:
    """Seconds a device with these points (multiple, s) carries each multiple, at or above its first point.

    log(time) is linear in the multiple between points; past the last point the last slope goes on.
    """
    at, log_s = points[:, 0], np.log(points[:, 1])
    inside = np.interp(multiple, at, log_s)
    if len(at) > 1:
        slope = (log_s[-1] - log_s[-2]) / (at[-1] - at[-2])
        inside = np.where(multiple > at[-1], log_s[-1] + (multiple - at[-1]) * slope, inside)
    return np.asarray(np.maximum(np.exp(inside), 1e-6))
