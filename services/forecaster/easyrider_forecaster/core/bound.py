"""Upper bounds of the peak that are right as often as they say: base + rolling quantile of (peak - base)."""

import numpy as np

from easyrider_forecaster.core.arrays import HORIZONS_S, Array, Rowed
from easyrider_forecaster.core.mix import DEPTHS, ORIGINS, slot_of, slots_of

SCORES = 600
START = 30
"""Scores below which a fixed margin stands in."""
_ENOUGH = 100
"""The highest of fewer scores is exceeded more often than once in a hundred; part of the fixed margin stays."""
_OVERLAP = 0.3
"""Windows of 30 s, one a second, overlap: 600 of them hold 20 that stand apart. A third of the margin stays for it."""
_START_MARGIN = {0.9: 0.02, 0.99: 0.04}
MISS = 0.01
_MOST_UNITS = 32767
TAIL = 20
"""Of 600 scores the highest nineteen can be asked for: their level never exceeds 3 %."""


class PeakBound(Rowed):
    """Bounds at 0.90 and 0.99 of the highest 100 ms mean within each horizon, and how often they held."""

    def __init__(self, rows: int, rolling: int = len(HORIZONS_S), unit_w: float | None = None) -> None:
        """The first `rolling` horizons keep scores; where those are not all, no margin for 0.90 is learned.

        With `unit_w` scores are kept as whole multiples of it in 16 bits: half the memory, for many rows of one GPU.
        """
        super().__init__(rows)
        horizons = len(HORIZONS_S)
        self.rolling, self.unit_w = rolling, unit_w or 1.0
        self.margin90_w = self.column("margin90_w", (horizons,), np.float64, np.nan)
        self.margin99_w = self.column("margin99_w", (horizons,), np.float64, np.nan)
        self.scored = self.column("scored", (horizons,), np.int64, 0)
        self.missed = self.column("missed", (horizons,), np.float64, 0.0)  # share of late, an hour's memory
        self._level = self.column("_level", (horizons,), np.float64, MISS)
        self._scores = self.column(
            "_scores", (rolling, SCORES), np.float32 if unit_w is None else np.int16, 0
        )
        self._base = self.column("_base", (sum(DEPTHS),), np.float32, np.nan)
        self._said = self.column("_said", (sum(DEPTHS),), np.float32, np.nan)
        self._when = np.full(ORIGINS, -1)

    def margins(self, rating_w: Array) -> tuple[Array, Array]:
        """Watts above the base for 0.90 and 0.99, (rows, horizons)."""
        start90_w, start99_w = _START_MARGIN[0.9] * rating_w[:, None], _START_MARGIN[0.99] * rating_w[:, None]
        few = np.clip(1.0 - self.scored / _ENOUGH, 0.0, 1.0)
        apart = np.minimum(self.scored, SCORES) / np.asarray(HORIZONS_S)
        few = np.maximum(few, _OVERLAP * np.clip(1.0 - apart / _ENOUGH, 0.0, 1.0))
        known = np.isfinite(self.margin99_w)
        margin90_w = np.where(known, self.margin99_w, start90_w)
        margin90_w = np.where(np.isfinite(self.margin90_w), self.margin90_w, margin90_w)
        margin99_w = np.where(np.isfinite(self.margin99_w), self.margin99_w + few * start99_w, start99_w)
        return margin90_w, np.maximum(margin99_w, margin90_w)

    def keep(self, block: int, base_w: Array, said_w: Array) -> None:
        """Remember base and 0.99 bound of this origin, (rows, horizons)."""
        self._base[:, slots_of(block)] = base_w
        self._said[:, slots_of(block)] = said_w
        self._when[block % ORIGINS] = block

    def knows(self, origin: int) -> bool:
        """Whether a bound was said at this origin and is still remembered."""
        return bool(self._when[origin % ORIGINS] == origin)

    def score(self, block: int, horizon: int, peak_w: Array, valid: Array, lower_bound: Array) -> None:
        """What came, (rows,). Where `lower_bound` holds, a limit hid samples: then only a miss is evidence."""
        origin = block - HORIZONS_S[horizon]
        if not self.knows(origin):
            return
        at = slot_of(origin, horizon)
        base, said = self._base[:, at], self._said[:, at]
        with np.errstate(invalid="ignore"):
            miss = peak_w > said + 0.5
        rows = np.flatnonzero(valid & np.isfinite(base) & np.isfinite(peak_w) & (miss | ~lower_bound))
        number = self.scored[rows, horizon]
        if horizon < self.rolling:
            units = (peak_w[rows] - base[rows]) / self.unit_w
            if self._scores.dtype == np.int16:
                units = np.rint(np.clip(units, -_MOST_UNITS, _MOST_UNITS))
            self._scores[rows, horizon, number % SCORES] = units
        self.scored[rows, horizon] = number + 1
        pace = 1.0 / np.minimum(number + 1, 3600)
        self.missed[rows, horizon] += pace * (miss[rows] - self.missed[rows, horizon])
        level = self._level[rows, horizon] + 0.002 * (MISS - miss[rows])
        self._level[rows, horizon] = np.clip(level, 0.0005, 0.03)

    def learn(self, rows: Array) -> None:
        """New margins for some rows: order statistics with the (n + 1) correction."""
        if not len(rows):
            return
        some = slice(0, self.rolling)
        number = np.minimum(self.scored[rows, some], SCORES)
        filled = np.arange(SCORES) < number[:, :, None]
        ordered = np.sort(np.where(filled, self._scores[rows] * self.unit_w, np.inf), axis=2)
        wanted = [(self.margin99_w, self._level[rows, some])]
        if self.rolling == len(HORIZONS_S):
            wanted.append((self.margin90_w, np.full_like(self._level[rows, some], 0.1)))
        for margin_w, miss in wanted:
            at = np.ceil((number + 1) * (1 - miss)).astype(np.int64) - 1
            at = np.clip(at, 0, np.maximum(number - 1, 0))
            value_w = np.take_along_axis(ordered, at[:, :, None], axis=2)[:, :, 0]
            margin_w[rows, some] = np.where(number >= START, value_w, np.nan)
