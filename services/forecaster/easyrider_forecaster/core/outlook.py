"""All groups at one origin: rivals, weights, bounds. Watts per GPU, kept for scoring later."""

from dataclasses import dataclass

import numpy as np

from easyrider_forecaster.core import experts
from easyrider_forecaster.core.arrays import HORIZONS_S, Array, cohort
from easyrider_forecaster.core.bound import PeakBound
from easyrider_forecaster.core.censor import Ceiling
from easyrider_forecaster.core.history import History
from easyrider_forecaster.core.level import Levels
from easyrider_forecaster.core.mix import Mix

_FIRST_MEAN_LOSS = (0.0, 0.0, 1.0, 1.0, 2.0, 2.4, 1.0, 1.0)
_FIRST_PEAK_LOSS = (0.0, 0.0, 0.5, 1.0, 1.0)
_LONG = np.asarray(HORIZONS_S) >= 10
_LONG_FLOOR = 0.01
"""From 10 s on the bound stays 1 % of the rating above the highest of 60 s: scores arrive too late there."""
_TURNS = 5


@dataclass(frozen=True, slots=True)
class Rows:
    """Range of each group, watts per GPU: lowest seen, limit in force, device maximum."""

    floor_w: Array
    limit_w: Array
    max_w: Array


@dataclass(frozen=True, slots=True)
class View:
    """Watts per GPU over the horizons, (groups, horizons)."""

    mean_w: Array
    peak_w: Array
    q90_w: Array
    q99_w: Array


class Outlook:
    """Rival means and peaks, their records, and the bound; one row a group."""

    def __init__(self) -> None:
        self.history, self.ceiling, self.levels = History(0), Ceiling(0), Levels(0)
        self.means, self.peaks = Mix(0, _FIRST_MEAN_LOSS), Mix(0, _FIRST_PEAK_LOSS)
        self.bound = PeakBound(0)
        self.parts = (self.history, self.ceiling, self.levels, self.means, self.peaks, self.bound)

    def see(self, raw: Array, boards_hidden: Array, rows: Rows, instant: Array, unlike: Array) -> None:
        """Take one closed block, (groups, 10): learn level and ceiling, score what was said before."""
        ceiling_w = np.minimum(self.ceiling.peak_w, rows.max_w)
        demand = np.where(boards_hidden, np.fmax(raw, ceiling_w[:, None]), raw)
        moved = self.history.append(raw, demand, boards_hidden, rows.limit_w, instant, unlike)
        block = self.history.block
        self.ceiling.see(raw, rows.max_w)
        self.ceiling.raise_to(self.history)
        self.ceiling.learn(self.history, self._turn(block))
        seconds = np.stack(
            [self.history.mean(s, 10) for s in (self.history.demand, self.history.draw)], axis=1
        )
        self.levels.step(seconds, rows.floor_w, rows.max_w)
        self.levels.follow_limit(moved, rows.limit_w)
        for column, horizon_s in enumerate(HORIZONS_S):
            self._score(block, column, horizon_s, rows)
        self.bound.learn(self._turn(block))

    def look(self, rows: Rows, period_s: Array, alias: Array) -> tuple[View, View]:
        """Draw and demand from here on; remembers what was said."""
        history, block = self.history, self.history.block
        seasonal = np.flatnonzero(np.isfinite(period_s) & ~alias)
        period = period_s[seasonal] * 10.0
        mean_w, views = {}, {}
        top_w = {"demand": rows.max_w, "draw": np.minimum(rows.limit_w, rows.max_w)}
        for column, (name, series) in enumerate((("demand", history.demand), ("draw", history.draw))):
            season = np.full((history.rows, len(HORIZONS_S)), np.nan)
            season[seasonal] = experts.season_means(history, series, seasonal, period)
            windows = experts.window_means(history, series)
            rivals = experts.mean_forecasts(
                windows, self.levels.means(column), season, rows.floor_w, top_w[name]
            )
            mean_w[name] = self.means.weigh(rivals)
            if name == "draw":
                self.means.keep(block, rivals, mean_w[name])
        tops = history.tops(history.demand)
        season = np.full((history.rows, len(HORIZONS_S)), np.nan)
        season[seasonal] = experts.season_tops(history, history.demand, seasonal, period, tops)
        rivals = experts.peak_forecasts(tops, season, rows.floor_w, rows.max_w)
        peak_w = self.peaks.weigh(rivals)
        self.peaks.keep(block, rivals, peak_w)
        q90_w, q99_w = self._bounds(tops, rows, alias)
        for name in ("draw", "demand"):
            views[name] = self._view(mean_w[name], peak_w, q90_w, q99_w, rows.floor_w, top_w[name])
        return views["draw"], views["demand"]

    def model(self, row: int, seasonal: bool) -> str:
        """The heaviest rival for the mean over 10 s; `level` says whether its parameters were fitted."""
        losses = self.means.loss[row, HORIZONS_S.index(10)]
        name = experts.MEAN_EXPERTS[int((losses if seasonal else losses[:-1]).argmin())]
        if name == "level":
            return "level:ets" if self.levels.fitted[row] else "level:default"
        return name

    def _bounds(self, tops: Array, rows: Rows, alias: Array) -> tuple[Array, Array]:
        base_w = tops[:, -1].astype(np.float64)
        suspects = np.flatnonzero(alias)
        if len(suspects):
            instant = np.fmax.reduce(self.history.last(self.history.instant, suspects, 600), axis=1)
            base_w[suspects] = np.fmax(base_w[suspects], instant)
        base_w = np.repeat(np.where(np.isneginf(base_w), np.nan, base_w)[:, None], len(HORIZONS_S), axis=1)
        margin90_w, margin99_w = self.bound.margins(rows.max_w)
        q99_w = base_w + margin99_w
        q99_w[:, _LONG] = np.fmax(q99_w, base_w + _LONG_FLOOR * rows.max_w[:, None])[:, _LONG]
        q99_w = np.minimum(q99_w, rows.max_w[:, None])
        self.bound.keep(self.history.block, base_w, q99_w)
        return np.minimum(base_w + margin90_w, rows.max_w[:, None]), q99_w

    def _view(
        self, mean_w: Array, peak_w: Array, q90_w: Array, q99_w: Array, floor_w: Array, top_w: Array
    ) -> View:
        """Ordered (mean <= peak <= q90 <= q99, longer horizons peak higher) and within [floor, top]."""
        low, high = floor_w[:, None], top_w[:, None]
        mean_w = np.clip(mean_w, low, high)
        peak_w = np.maximum(np.clip(np.maximum.accumulate(peak_w, axis=1), low, high), mean_w)
        q90_w = np.maximum(np.clip(np.maximum.accumulate(q90_w, axis=1), low, high), peak_w)
        q99_w = np.maximum(np.clip(np.maximum.accumulate(q99_w, axis=1), low, high), q90_w)
        return View(mean_w, peak_w, q90_w, q99_w)

    def _score(self, block: int, column: int, horizon_s: int, rows: Rows) -> None:
        history = self.history
        old_enough = history.age > horizon_s
        whole = old_enough & (history.count(10 * horizon_s) >= 9 * horizon_s)
        limits_w = history.blocks_back(history.limit_w, horizon_s + 1)
        still = np.ptp(np.nan_to_num(limits_w), axis=1) < 0.5
        hidden = np.asarray(history.blocks_back(history.hidden, horizon_s).any(axis=1))
        peak_w = history.blocks_back(history.raw.top, horizon_s).max(axis=1).astype(np.float64)
        mean_w = history.mean(history.raw, 10 * horizon_s)
        self.means.score(block, column, np.minimum(mean_w, rows.limit_w), whole & still, rows.max_w)
        self.peaks.score(block, column, peak_w, whole & ~hidden, rows.max_w)
        self.bound.score(block, column, peak_w, whole, hidden)

    def _turn(self, block: int) -> Array:
        """Rows whose sorts are due: all of a few hundred, a fifth of many."""
        turns = min(_TURNS, 1 + self.history.rows // 200)
        return cohort(self.history.rows, block, turns)
