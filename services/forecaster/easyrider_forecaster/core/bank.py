"""Many series forecast side by side, in arrays: no messages, no clocks, no files.

    bank = Bank(rating_w=np.full(20, 700.0), idle_w=75.0, domains=np.ones((1, 20)))
    for second in range(600):
        bank.observe(power_w[:, 10 * second : 10 * second + 10])  # (20, 10): 0.1 s means, NaN is a gap
        said = bank.tick()  # from the end of that second on
        said.demand.mean_w  # (20, 5): mean over the next 1, 2, 5, 10, 30 s (HORIZONS_S)
        said.demand.peak_w  # (20, 5): point forecast (median) of the highest 0.1 s mean within each horizon
        said.demand.q90_w, said.demand.q99_w  # (20, 5): its 0.90 and 0.99 quantiles
        said.draw  # the same under the limit in force (`limit_w` of `observe`)
        said.mean_quantiles_w  # (20, 5, 3): 0.5, 0.9 and 0.99 quantiles of the mean (mean_quantiles.LEVELS)
        said.period_s, said.next_rise_s, said.next_fall_s  # (20,): s, NaN where unknown
        said.domain_demand.mean_w, said.domain_demand.q99_w  # (1, 5): W of the sum

Call `observe` and `tick` in turn, once a second; a `tick` may be left out where nothing is to be said (its
origin is not scored then). A later call never changes what was returned.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from easyrider_forecaster.core import censor
from easyrider_forecaster.core.arrays import HORIZONS_S, Array
from easyrider_forecaster.core.detector import Detector
from easyrider_forecaster.core.domains import Domains
from easyrider_forecaster.core.kernels import Kernels
from easyrider_forecaster.core.outlook import Outlook, Rows, View
from easyrider_forecaster.core.sight import Sight
from easyrider_forecaster.core.thoughts import Thoughts

__all__ = ["HORIZONS_S", "Bank", "Forecasts", "View"]


@dataclass(frozen=True, slots=True)
class Forecasts:
    """All series at one origin. Views hold W over (series, horizons); the rest is (series,), NaN: unknown."""

    demand: View
    draw: View
    period_s: Array
    next_rise_s: Array
    next_fall_s: Array
    domain_demand: View
    domain_draw: View
    mean_quantiles_w: Array


class Bank:
    """`rating_w` (series,) is the device maximum; `idle_w` the lowest draw; `domains` (domains, series) shares.

    `without` leaves parts out, for ablations: "events", "template", "contexts", "ar". `kernels` does the dear steps:
    arrays of numpy, or `adapters.compiled.Compiled` for thousands of series. With `beside`, periods are looked for
    by calls of `think` between seconds, else by `observe`.
    """

    def __init__(
        self,
        rating_w: Array,
        idle_w: Array | float = 0.0,
        *,
        domains: Array | None = None,
        without: Iterable[str] = (),
        kernels: Kernels | None = None,
        beside: bool = False,
    ) -> None:
        self.rating_w = np.asarray(rating_w, np.float64)
        series = len(self.rating_w)
        self.idle_w = np.minimum(np.broadcast_to(np.asarray(idle_w, np.float64), (series,)), self.rating_w)
        self.without = frozenset(without)
        self.outlook = Outlook(self.without, kernels)
        self.detector = Detector(0)
        self._seen, self._thoughts = Sight.plain(series), Thoughts() if beside else None
        for part in (*self.outlook.parts, self.detector):
            part.grow(series)
        weights = np.zeros((0, series)) if domains is None else np.asarray(domains, np.float64)
        self.domains = Domains(tuple(str(row) for row in range(len(weights))))
        self.domains.weights = weights
        self._rows = Rows(floor_w=self.idle_w, limit_w=self.rating_w, max_w=self.rating_w)

    def observe(
        self, power_w: Array, *, limit_w: Array | None = None, instant_w: Array | None = None
    ) -> None:
        """One second: (series, 10) means over 0.1 s, NaN is a gap. `limit_w` (series,) is enforced.

        `limit_w` that is NaN, or none, is the rating. `instant_w` (series, 10) is the sensor's instant field, from
        which false slow waves are told; without it none is. Values that are not finite, negative, or above 1.2 x rating
        count as gaps.
        """
        power_w = self._sane(power_w)
        instant = np.full(power_w.shape, np.nan) if instant_w is None else self._sane(instant_w)
        limits_w = self.rating_w
        if limit_w is not None:
            limits_w = np.clip(np.where(np.isnan(limit_w), limits_w, limit_w), self.idle_w, limits_w)
        self._rows = rows = Rows(floor_w=self.idle_w, limit_w=limits_w, max_w=self.rating_w)
        hidden = censor.boards_at_limit(power_w.T, limits_w, self.rating_w).T
        self.outlook.see(power_w, hidden, rows, instant, np.full(power_w.shape, np.nan))
        if self.domains.ids:
            self.domains.see(self.outlook.history.block, power_w, hidden, limits_w)
        seen, history = self._seen, self.outlook.history
        if self._thoughts is None:
            self.detector.judge(history, seen, self.rating_w)
        else:
            self._thoughts.add(self.detector.turn(history), seen)

    def think(self) -> bool:
        """Judge the rhythm of a few series whose turn it is; False where none waits."""
        if self._thoughts is None:
            return False
        return self._thoughts.next(self.detector, self.outlook.history, self.rating_w)

    def tick(self) -> Forecasts:
        """What follows the last second observed."""
        draw, demand = self.outlook.look(self._rows, self.detector.periods.period_s, self.detector.alias)
        heard = self.outlook.history.filled >= 60
        domain_draw, domain_demand = self.domains.view(
            self.outlook.history.block, draw, demand, self._rows, heard
        )
        rise_s, fall_s = self.outlook.edges_s(self._rows)
        period_s = np.where(self.detector.alias, np.nan, self.detector.periods.period_s)
        quantiles_w = self.outlook.mean_quantiles.around(demand.mean_w, self.rating_w)
        return Forecasts(demand, draw, period_s, rise_s, fall_s, domain_demand, domain_draw, quantiles_w)

    def _sane(self, power_w: Array) -> Array:
        """A copy with gaps where no power can be read out of a number."""
        values_w = np.array(power_w, np.float64)
        with np.errstate(invalid="ignore"):
            absurd = ~((values_w >= 0) & (values_w <= 1.2 * self.rating_w[:, None]))
        values_w[absurd] = np.nan
        return values_w
