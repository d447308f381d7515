"""All groups at one origin: rivals, weights, bounds. Watts per GPU, kept for scoring later."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from easyrider_forecaster.core import experts, lasting, phase, samples
from easyrider_forecaster.core.arrays import HORIZONS_S, Array
from easyrider_forecaster.core.bound import PeakBound
from easyrider_forecaster.core.capped import excess_w
from easyrider_forecaster.core.censor import Ceiling
from easyrider_forecaster.core.dips import Ahead, Dips
from easyrider_forecaster.core.history import History
from easyrider_forecaster.core.kernels import WINDOWS_S, Kernels
from easyrider_forecaster.core.level import Levels
from easyrider_forecaster.core.mean_quantiles import MeanQuantiles
from easyrider_forecaster.core.mix import IN_DIP, MOVING, NEAR_DIP, STEADY, Mix
from easyrider_forecaster.core.peak_bias import ArcBias
from easyrider_forecaster.core.pulse import Pulse
from easyrider_forecaster.core.recent import Recent
from easyrider_forecaster.core.regression import Regression
from easyrider_forecaster.core.trackers import Trackers

_FIRST_MEAN_LOSS = (0.0, 0.0, 1.0, 1.0, 2.0, 2.4, 1.0, 1.0, 1.0, 0.5, 0.5, 1.0, 0.5, 1.0, 1.0)
_FIRST_PEAK_LOSS = (0.0, 0.0, 0.5, 1.0, 1.0, 0.5, 1.0, 1.0, 1.0)
_ROLLING = 3
"""Horizons up to 5 s have a rolling quantile; the scores of the others come too late for one."""
_SCORE_W = 0.25
_BLIND = np.array([name not in experts.EVENTFUL for name in experts.MEAN_EXPERTS])
"""Rivals that know of no dip to come."""
_LONG_FLOOR = np.where(np.asarray(HORIZONS_S) >= 30, 0.01, 0.003)
"""Share of the rating by which a bound without a rolling quantile stays above the highest of 60 s."""
_DIP_MARGIN = 0.04
"""Share of the rating by which a bound stays above the last two seconds of a dip that is sure to go on."""
_NEAR_SLOTS, _NEAR_S = 300, 30.0
_TURNS = 5
_ADOPTED_A_TICK = 24


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

    def __init__(self, without: Iterable[str] = (), kernels: Kernels | None = None) -> None:
        self.without, self.kernels = frozenset(without), kernels or Kernels()
        self._ahead: Ahead | None = None
        self._tops = np.zeros((0, len(WINDOWS_S)))
        self.history, self.ceiling, self.levels = History(0), Ceiling(0), Levels(0)
        self.pulse, self.dips, self.recent, self.arc_bias = Pulse(0), Dips(0), Recent(0), ArcBias(0)
        self.regression, self.mean_quantiles = Regression(0), MeanQuantiles(0)
        self.means, self.peaks = Mix(0, _FIRST_MEAN_LOSS), Mix(0, _FIRST_PEAK_LOSS)
        self.bound = PeakBound(0, _ROLLING, _SCORE_W)
        self.far90, self.far99 = Trackers(0, 0.9, picks=False), Trackers(0, 0.99)
        self.parts = (
            self.history, self.ceiling, self.levels, self.pulse, self.dips, self.recent, self.arc_bias, self.regression,
            self.mean_quantiles, self.means, self.peaks, self.bound, self.far90, self.far99,
        )  # fmt: skip

    def see(self, raw: Array, boards_hidden: Array, rows: Rows, instant: Array, unlike: Array) -> None:
        """Take one closed block, (groups, 10): learn level and ceiling, score what was said before."""
        history, pulse = self.history, self.pulse
        ceiling_w = np.minimum(self.ceiling.peak_w, rows.max_w)
        demand = np.where(boards_hidden, np.fmax(raw, ceiling_w[:, None]), raw)
        history.append(demand, boards_hidden, rows.limit_w, instant, unlike)
        block = history.block
        kernels = self.kernels
        kernels.beat(pulse, raw, boards_hidden, rows.floor_w, rows.max_w)
        over = np.flatnonzero(pulse.in_dip & (pulse.dip_age > samples.LONGEST_DIP))
        pulse.restart(over)
        history.mark_dips(pulse.in_dip, pulse.dip_age, pulse.left, pulse.quiet)
        history.new_regime(over, samples.LONGEST_DIP)
        kernels.track(pulse, history)
        self.dips.note(pulse, history.mean(1))
        self.ceiling.see(raw, rows.max_w)
        self.ceiling.raise_to(history)
        self.recent.see(history, pulse, rows.floor_w, rows.max_w)
        second_w = history.mean(1)
        self.levels.step(np.stack((second_w, self._unseasoned(second_w)), axis=1), rows.floor_w, rows.max_w)
        if "ar" not in self.without:
            self.regression.learn(history)
        self._tops = kernels.tops(history)
        for column, horizon_s in enumerate(HORIZONS_S):
            self._score(block, column, horizon_s, rows)
        kernels.sort(history, self.ceiling, self.recent, self.bound, self._turns())
        self._ahead = None

    def look(self, rows: Rows, period_s: Array, alias: Array) -> tuple[View, View]:
        """Draw and demand from here on; remembers what was said."""
        history, pulse, block = self.history, self.pulse, self.history.block
        self._follow(period_s, alias)
        still = alias | ("events" in self.without)
        ahead = self._expected()
        context = self._context(ahead, still)
        means, peaks = self.kernels.rivals(
            history, pulse, self.dips, self.recent, ahead, self._tops,
            (self.levels.means(0), self.levels.means(1), self._regressed()), self.arc_bias.bias_w, still,
            rows.floor_w, rows.max_w,
        )  # fmt: skip
        for row in self.dips.told(pulse):  # what was announced needs no record to be believed
            means[row][np.ix_(ahead.inside_s[row] > 0, _BLIND)] = np.nan
        mean_w = self.kernels.weigh(self.means, block, means, context)
        peak_w = self.kernels.weigh(self.peaks, block, peaks, context)
        q90_w, q99_w = self._bounds(rows, alias, still, peak_w, context)
        taken_w = excess_w(history, pulse, rows.limit_w, mean_w, self._tops[:, -1])
        drawn_w = np.minimum(mean_w - taken_w, rows.limit_w[:, None])
        views = [
            self._view(mean, peak_w, q90_w, q99_w, rows.floor_w, top_w)
            for mean, top_w in ((drawn_w, np.minimum(rows.limit_w, rows.max_w)), (mean_w, rows.max_w))
        ]
        return views[0], views[1]

    def model(self, row: int, seasonal: bool) -> str:
        """The heaviest rival for the mean over 10 s; `level` says whether its parameters were fitted."""
        losses = self.means.loss[row, STEADY, HORIZONS_S.index(10)].copy()
        if not seasonal:
            losses[[experts.MEAN_EXPERTS.index(name) for name in experts.PERIODIC]] = np.inf
        name = experts.MEAN_EXPERTS[int(losses.argmin())]
        if name == "level":
            return "level:ets" if self.levels.fitted[row] else "level:default"
        return name

    def announce(self, row: int, in_s: float) -> None:
        """The job of this row said that it pauses in so many seconds (negative: since then)."""
        self.dips.announce(row, in_s, float(self.pulse.clock[row]) / 10.0)
        self._ahead = None

    def low_line_w(self, rows: Rows) -> Array:
        """Watts between low and high, over which a rise goes."""
        return self.pulse.low_line_w(rows.floor_w, rows.max_w)

    def edges_s(self, rows: Rows) -> tuple[Array, Array]:
        """Seconds until the next rise and the next fall of every group; NaN where none is known."""
        pulse = self.pulse
        rise_s, fall_s = self.kernels.edges(pulse, self.low_line_w(rows))
        ahead = self._expected()
        fall_s = np.where(pulse.in_dip, np.nan, np.fmin(fall_s, np.maximum(ahead.until_s, 0.0)))
        return np.where(pulse.in_dip, ahead.left_s, rise_s), fall_s

    def _regressed(self) -> Array:
        if "ar" in self.without:
            return np.full((self.history.rows, len(HORIZONS_S)), np.nan)
        return self.regression.means(self.history)

    def _expected(self) -> Ahead:
        if self._ahead is None:
            self._ahead = self.kernels.ahead(self.dips, self.pulse)
        return self._ahead

    def _follow(self, period_s: Array, alias: Array) -> None:
        """Take over periods from the detector; a new one means a new shape."""
        pulse, wanted = self.pulse, np.where(alias, np.nan, 10.0 * period_s)
        if "template" in self.without:
            wanted = np.full(len(wanted), np.nan)
        known, had = np.isfinite(wanted), np.isfinite(pulse.period)
        with np.errstate(invalid="ignore"):
            near = had & known & (np.abs(wanted - pulse.period) <= phase.SAME_PERIOD * wanted)
        pulse.period[near] = wanted[near]
        pulse.period[~known] = np.nan
        for row in np.flatnonzero(known & ~near & ~pulse.in_dip)[:_ADOPTED_A_TICK].tolist():
            phase.adopt(pulse, self.history, row, float(wanted[row]))

    def _context(self, ahead: Ahead, still: Array) -> Array:
        pulse = self.pulse
        context = np.where(self.recent.moving, MOVING, STEADY)
        with np.errstate(invalid="ignore"):
            soon = (ahead.until_s < _NEAR_S) & (ahead.until_s > -ahead.tolerance_s)
        context[(pulse.quiet < _NEAR_SLOTS) | (soon & ~still)] = NEAR_DIP
        context[pulse.in_dip] = IN_DIP
        if "contexts" in self.without:
            context[:] = STEADY
        return context

    def _unseasoned(self, second_w: Array) -> Array:
        """The last second's mean less what the shape says of it, NaN in dips and without a period."""
        pulse = self.pulse
        expected_w, whole_w = self.kernels.last_means(pulse)
        value = second_w - expected_w + whole_w
        return np.where(pulse.in_dip | (pulse.quiet < 10), np.nan, value)

    def _bounds(
        self, rows: Rows, alias: Array, still: Array, peak_w: Array, context: Array
    ) -> tuple[Array, Array]:
        history, block = self.history, self.history.block
        base_w = self._tops[:, -1].astype(np.float64)
        suspects = np.flatnonzero(alias)
        if len(suspects):
            instant = np.fmax.reduce(history.last(history.instant, suspects, 600), axis=1)
            base_w[suspects] = np.fmax(base_w[suspects], instant)
        base_w = np.repeat(np.where(np.isneginf(base_w), np.nan, base_w)[:, None], len(HORIZONS_S), axis=1)
        forecast_w = np.where(alias[:, None], np.nan, peak_w)
        bases_w = np.stack((base_w, forecast_w), axis=2)
        q90_w = self.far90.bounds(bases_w, context, rows.max_w)
        q99_w = base_w + self.bound.margins(rows.max_w)[1]
        far = slice(_ROLLING, None)
        far_w = self.far99.bounds(bases_w, context, rows.max_w)
        floor_w = base_w + rows.max_w[:, None] * _LONG_FLOOR
        q99_w[:, far] = np.fmax(far_w, floor_w)[:, far]
        sure = lasting.through(self.dips, self.pulse) & ~still[:, None]
        if sure.any():
            dip_w = self._tops[:, 1].astype(np.float64) + _DIP_MARGIN * rows.max_w
            q99_w = np.where(sure, np.fmin(q99_w, dip_w[:, None]), q99_w)
            q90_w = np.where(sure, np.fmin(q90_w, q99_w), q90_w)
        q99_w = np.minimum(q99_w, rows.max_w[:, None])
        self.bound.keep(block, base_w, q99_w)
        self.far90.keep(block, bases_w, context)
        self.far99.keep(block, bases_w, context)
        return np.minimum(q90_w, rows.max_w[:, None]), q99_w

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
        whole = (history.age > horizon_s) & (history.count(horizon_s) >= 9 * horizon_s)
        hidden = np.asarray(history.blocks_back(history.hidden, horizon_s).any(axis=1))
        peak_w, kernels = self._tops[:, column].astype(np.float64), self.kernels
        free = whole & ~hidden
        mean_w, said_w = history.mean(horizon_s), self.means.said(block - horizon_s, column)
        if (block + column) % self._turns() == 0:
            self.mean_quantiles.score(column, said_w, mean_w, free, rows.max_w)
        kernels.score(self.means, block, column, mean_w, free, rows.max_w)
        arc_w = self.peaks.made(block - horizon_s, column, experts.PEAK_EXPERTS.index("arc"))
        self.arc_bias.score(column, peak_w, arc_w, free & ~self.pulse.in_dip)
        kernels.score(self.peaks, block, column, peak_w, free, rows.max_w)
        kernels.cover(self.bound, block, column, peak_w, whole, hidden)
        kernels.far(self.far90, block, column, peak_w, whole, hidden, rows.max_w)
        if column >= _ROLLING:
            kernels.far(self.far99, block, column, peak_w, whole, hidden, rows.max_w)

    def _turns(self) -> int:
        """Over how many blocks sorts are spread: one for a few hundred rows, five for many."""
        return min(_TURNS, 1 + self.history.rows // 200)
