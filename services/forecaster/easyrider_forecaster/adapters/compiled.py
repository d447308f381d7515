"""The dear steps of one second compiled by numba: the same numbers as `Kernels`, a tenth of the time.

Importing this costs about 90 MB, making a `Compiled` some ten seconds of one core: for thousands of series only.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core.caching import NullCache

from easyrider_forecaster.core.arrays import HORIZONS_S, Array
from easyrider_forecaster.core.bound import PeakBound
from easyrider_forecaster.core.censor import Ceiling
from easyrider_forecaster.core.dips import Ahead, Dips
from easyrider_forecaster.core.experts import MEAN_EXPERTS, PEAK_EXPERTS
from easyrider_forecaster.core.history import History
from easyrider_forecaster.core.kernels import WINDOWS_S, Kernels
from easyrider_forecaster.core.loops import ahead, beat, bounds, mixing, rivals, shapes, tracking, windows
from easyrider_forecaster.core.mix import Mix, slot_of
from easyrider_forecaster.core.pulse import Pulse
from easyrider_forecaster.core.recent import Recent
from easyrider_forecaster.core.trackers import START_MARGIN, Trackers


def compiled(loop: Callable[..., None]) -> Any:
    """The loop as machine code, from its first call on."""
    return numba.njit(nogil=True, error_model="numpy")(loop)


def kept_in(folder: Path) -> Callable[[Callable[..., None]], Any]:
    """The same, read from the folder where it is there, and else written there."""
    numba.config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]

    def make(loop: Callable[..., None]) -> Any:
        return numba.njit(nogil=True, error_model="numpy", cache=True)(loop)

    return make


class Compiled(Kernels):
    """Compiles each step at its first use."""

    name = "numba"

    def __init__(self, make: Callable[[Callable[..., None]], Any] = compiled) -> None:
        self._beat, self._search = make(beat.beat), make(tracking.search)
        self._judge, self._dips = make(tracking.judge_runs), make(ahead.ahead)
        self._rivals, self._weigh = make(rivals.rivals), make(mixing.weigh)
        self._score, self._cover = make(mixing.score), make(bounds.cover)
        self._track, self._tail = make(bounds.track), make(bounds.tail)
        self._highs, self._middles = make(bounds.highs), make(bounds.middles)
        self._tops, self._edges, self._last = make(windows.tops), make(shapes.edges), make(shapes.last_means)

    def keep_no_more(self) -> None:
        """What is compiled from now on is written nowhere: the folder may be gone."""
        for step in vars(self).values():
            step._cache = NullCache()

    def beat(self, pulse: Pulse, power_w: Array, hidden: Array, floor_w: Array, max_w: Array) -> None:
        """One block of samples, (rows, 10)."""
        p = pulse
        self._beat(
            np.ascontiguousarray(power_w, np.float64), np.ascontiguousarray(hidden, np.bool_), floor_w, max_w,
            p.heard, p.plateau_w, p.low_run, p.high_run, p.patience, p.in_dip, p.dip_age, p.quiet, p.clock,
            p.dip_clock, p.left, p.entered, p.runs, p.run_ends, p.run_at, p.period, p.phase, p.level_w, p.held,
            p.run_phase, p.shape_w, p.visits,
        )  # fmt: skip

    def track(self, pulse: Pulse, history: History) -> None:
        """Low runs judged, phases fitted to what was seen."""
        p = pulse
        self._judge(p.heard, p.runs, p.run_ends, p.usual_run, p.patience)
        value = history.demand.value
        self._search(history.end, value, p.in_dip, p.quiet, p.period, p.phase, p.level_w, p.shape_w)

    def edges(self, pulse: Pulse, low_line_w: Array) -> tuple[Array, Array]:
        """Seconds until the shape next rises and falls, (rows,)."""
        rise_s, fall_s = np.empty(pulse.rows), np.empty(pulse.rows)
        self._edges(pulse.period, pulse.phase, pulse.level_w, pulse.shape_w, low_line_w, rise_s, fall_s)
        return rise_s, fall_s

    def last_means(self, pulse: Pulse) -> tuple[Array, Array]:
        """Mean of the shape over the last second, and of the whole of it, (rows,)."""
        last_w, whole_w = np.empty(pulse.rows), np.empty(pulse.rows)
        self._last(pulse.period, pulse.phase, pulse.level_w, pulse.shape_w, last_w, whole_w)
        return last_w, whole_w

    def ahead(self, dips: Dips, pulse: Pulse) -> Ahead:
        """Dips to be expected."""
        rows, d = pulse.rows, dips
        out = Ahead(
            np.empty((rows, len(HORIZONS_S))), np.empty((rows, len(HORIZONS_S)), np.bool_), np.empty(rows),
            np.empty(rows), np.empty(rows),
        )  # fmt: skip
        self._dips(
            pulse.clock, pulse.in_dip, pulse.dip_age, d.lengths_s, d.cadence_s, d.anchor_s, d.long_s, d.announced_s,
            d.due, out.inside_s, out.through, out.until_s, out.tolerance_s, out.left_s,
        )  # fmt: skip
        return out

    def tops(self, history: History) -> Array:
        """Highest sample of the last 1, 2, 5, 10, 30, 60 s, (rows, 6)."""
        out = np.empty((history.rows, len(WINDOWS_S)), np.float32)
        self._tops(history.block, history.demand.top, out)
        return out

    def rivals(
        self,
        history: History,
        pulse: Pulse,
        dips: Dips,
        recent: Recent,
        ahead: Ahead,
        tops: Array,
        levels_w: tuple[Array, Array, Array],
        arc_bias_w: Array,
        still: Array,
        floor_w: Array,
        max_w: Array,
    ) -> tuple[Array, Array]:
        """Rivals for mean and peak, (rows, horizons, experts), within [floor, device maximum]."""
        means = np.empty((history.rows, len(HORIZONS_S), len(MEAN_EXPERTS)), np.float32)
        peaks = np.empty((history.rows, len(HORIZONS_S), len(PEAK_EXPERTS)), np.float32)
        one, p = history.demand, pulse
        self._rivals(
            history.end, one.value, one.total, one.number, one.top, np.asarray(tops, np.float32), p.in_dip, p.period,
            p.phase, p.level_w, p.shape_w, ahead.inside_s, ahead.through, still, dips.depth_w, recent.clean_w,
            recent.clean_high_w, recent.middle_top_w, recent.changed_w, *levels_w, arc_bias_w,
            np.ascontiguousarray(floor_w), np.ascontiguousarray(max_w), means, peaks,
        )  # fmt: skip
        return means, peaks

    def weigh(self, mix: Mix, block: int, rivals: Array, context: Array) -> Array:
        """The combination, (rows, horizons), remembered as said at this origin."""
        mixed = np.empty((mix.rows, len(HORIZONS_S)))
        m = mix
        self._weigh(block, rivals, context, m.loss, m._made, m._said, m._context, mixed)
        mix.kept(block)
        return mixed

    def score(self, mix: Mix, block: int, h: int, outcome_w: Array, valid: Array, rating_w: Array) -> None:
        """What came of one horizon."""
        if mix.knows(block - HORIZONS_S[h]):
            m = mix
            self._score(
                block, h, outcome_w, valid, np.ascontiguousarray(rating_w), m.loss, m._made, m._said, m._context,
                m.error_w, m.rival_error_w, m.scored,
            )  # fmt: skip

    def cover(self, bound: PeakBound, block: int, h: int, peak_w: Array, valid: Array, hidden: Array) -> None:
        """What came of one horizon, for the rolling bound."""
        if bound.knows(block - HORIZONS_S[h]):
            b = bound
            self._cover(
                h, b.rolling, peak_w, valid, hidden, b._base, b._said, b._scores, b.scored, b.missed, b._level,
                slot_of(block - HORIZONS_S[h], h), b.unit_w,
            )  # fmt: skip

    def far(
        self, one: Trackers, block: int, h: int, peak_w: Array, valid: Array, hidden: Array, rating_w: Array
    ) -> None:
        """What came of one horizon, for a tracked bound."""
        if one.knows(block - HORIZONS_S[h]):
            self._track(
                block, h, one.share, START_MARGIN[one.share], peak_w, valid, hidden, np.ascontiguousarray(rating_w),
                one.margin_w, one.loss_w, one._number, one._first_w, one._scale_w, one._base_w, one._context,
            )  # fmt: skip

    def sort(self, history: History, ceiling: Ceiling, recent: Recent, bound: PeakBound, turns: int) -> None:
        """Order statistics of every `turns`-th row."""
        first, rows = history.block % turns, history.rows
        upper_w, number = np.full(rows, np.nan), np.zeros(rows, np.int64)
        value = history.demand.value
        self._highs(first, turns, history.end, value, history.dip, recent.clean_high_w, upper_w, number)
        self._middles(first, turns, history.block, history.demand.top, recent.clean, recent.middle_top_w)
        self._tail(
            first,
            turns,
            bound.rolling,
            bound.scored,
            bound._level,
            bound._scores,
            bound.unit_w,
            bound.margin99_w,
        )
        ceiling.settle(history, np.arange(first, rows, turns), upper_w, number)
