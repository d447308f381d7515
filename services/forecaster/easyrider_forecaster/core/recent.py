"""Slow summaries of the last minute: means and highs outside dips, and the mean since the last change of regime."""

import numpy as np

from easyrider_forecaster.core.arrays import Array, Rowed
from easyrider_forecaster.core.history import BLOCKS, History
from easyrider_forecaster.core.pulse import Pulse

_MINUTE = 60
_OUT_FOR = 3
_DEVIATIONS = 5.0
_LEAST_STEP = 0.06


class Recent(Rowed):
    """One row a group, watts per GPU; NaN before there is anything to say."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.clean_w = self.column("clean_w", (), np.float64, np.nan)
        self.clean_high_w = self.column("clean_high_w", (), np.float64, np.nan)  # 98 % of samples
        self.middle_top_w = self.column("middle_top_w", (), np.float64, np.nan)  # median of block maxima
        self.clean = self.column("clean", (BLOCKS,), np.bool_, False)
        self.changed_w = self.column("changed_w", (), np.float64, np.nan)
        self.spread_w = self.column("spread_w", (), np.float64, np.nan)
        self.usual_move_w = self.column("usual_move_w", (), np.float64, np.nan)
        self.moving = self.column("moving", (), np.bool_, False)
        self._since = self.column("_since", (), np.int64, 0)
        self._cleans = self.column("_cleans", (), np.int64, 0)
        self._out = self.column("_out", (), np.int64, 0)

    def see(self, history: History, pulse: Pulse, floor_w: Array, max_w: Array) -> None:
        """One closed block."""
        second_w, ten_w = history.mean(1), history.mean(10)
        anew = np.flatnonzero(pulse.restarted)
        self.clean_w[anew], self._cleans[anew], self.clean[anew] = np.nan, 0, False
        ok = np.isfinite(second_w)
        calm = ok & ~pulse.in_dip & (pulse.quiet >= 10) & (pulse.low_run < 10)
        calm |= ok & ~pulse.in_dip & np.isfinite(pulse.usual_run)
        self.clean[:, history.block % BLOCKS] = ok & ~pulse.in_dip & (pulse.quiet >= 10)
        self._cleans[calm] += 1
        pace = 1.0 / np.minimum(np.maximum(self._cleans, 1), _MINUTE)
        old = np.where(np.isfinite(self.clean_w), self.clean_w, second_w)
        self.clean_w[:] = np.where(calm, old + pace * (second_w - old), self.clean_w)
        self._change(second_w, ok, floor_w, max_w)
        move_w = np.abs(second_w - ten_w)
        known = np.isfinite(self.usual_move_w)
        with np.errstate(invalid="ignore"):
            self.moving[:] = known & (move_w > 3.0 * self.usual_move_w + 0.01 * max_w)
        gain = np.where(known, 1 / 60, 1.0)
        start = np.where(known, self.usual_move_w, 0.0)
        self.usual_move_w[:] = np.where(ok, start + gain * (move_w - start), self.usual_move_w)

    def learn(self, history: History, rows: Array) -> None:
        """Order statistics of some rows: they need a sort."""
        if not len(rows):
            return
        values = history.last(history.demand.value, rows, 10 * _MINUTE)
        dips = history.last(history.dip, rows, 10 * _MINUTE)
        values = np.where(dips | np.isnan(values), -np.inf, values)
        number = (values > -np.inf).sum(axis=1)
        rank = np.maximum(np.rint(0.02 * number).astype(np.int64), 0)
        few = np.sort(np.partition(values, values.shape[1] - 14, axis=1)[:, -14:], axis=1)
        high = few[np.arange(len(rows)), 13 - np.minimum(rank, 13)]
        self.clean_high_w[rows] = np.where(number >= 20, high, np.nan)
        tops = history.blocks_back(history.demand.top, _MINUTE)[rows]
        clean = history.blocks_back(self.clean, _MINUTE)[rows] & np.isfinite(tops)
        ordered = np.sort(np.where(clean, tops, np.inf), axis=1)
        count = clean.sum(axis=1)
        middle = ordered[np.arange(len(rows)), np.maximum(count - 1, 0) // 2]
        self.middle_top_w[rows] = np.where(count > 0, middle, np.nan)

    def _change(self, second_w: Array, ok: Array, floor_w: Array, max_w: Array) -> None:
        first = ok & np.isnan(self.changed_w)
        miss_w = np.where(ok, second_w - self.changed_w, 0.0)
        step_w = np.maximum(_DEVIATIONS * np.nan_to_num(self.spread_w), _LEAST_STEP * (max_w - floor_w))
        with np.errstate(invalid="ignore"):
            outside = ok & (np.abs(miss_w) > step_w)
        self._out[:] = np.where(outside, self._out + 1, np.where(ok, 0, self._out))
        anew = first | (self._out >= _OUT_FOR)
        self._since[:] = np.where(anew, 1, self._since + ok)
        self._out[anew] = 0
        pace = 1.0 / np.maximum(np.minimum(self._since, 300), 1)
        inside = ok & ~anew & ~outside
        self.changed_w[:] = np.where(
            anew, second_w, np.where(inside, self.changed_w + pace * miss_w, self.changed_w)
        )
        spread = np.nan_to_num(self.spread_w)
        spread = np.where(anew, 0.0, np.where(inside, spread + pace * (np.abs(miss_w) - spread), spread))
        self.spread_w[:] = np.where(np.isnan(self.changed_w), np.nan, spread)
