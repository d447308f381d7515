"""What one run of each job has shown so far, for its fingerprint. Watts per GPU; a row a group."""

import numpy as np

from easyrider.fingerprints import BINS, STARTUP_STEP_S, STARTUP_STEPS
from easyrider_forecaster.core.arrays import BLOCK_SLOTS, SLOT_S, Array, Rowed
from easyrider_forecaster.core.detector import Detector
from easyrider_forecaster.core.dips import LONG_S
from easyrider_forecaster.core.fingerprints_shape import sketch
from easyrider_forecaster.core.history import BLOCKS, SLOTS
from easyrider_forecaster.core.outlook import Outlook, Rows

LOADED = 0.35
"""Share of the device maximum above which a job is past its set-up."""
LOADED_S = 3
LATE_S = 60
"""A job that draws little is past its set-up after a minute."""
CELLS = 128
TOP = 1.2
"""The last cell ends at this multiple of the device maximum; no board's sample lies above."""
LIMIT_CELLS = 20
_MEMORY_S = 3600
_STEADY_S = 60
_PERIODS_EVERY_S = 10
"""As often as periods are looked for."""
_FEW = 500
"""Of more rows every fifth second alone is put into cells."""
_FADES = 0.98
"""Of the score of a remembered shape, at every look: a job may drift."""


class Runs(Rowed):
    """Running figures since a row was cleared; start-up apart."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.loaded_s = self.column("loaded_s", (), np.int64, 0)
        self.seconds = self.column("seconds", (), np.int64, 0)  # since it was past its set-up
        self.hidden_s = self.column("hidden_s", (), np.int64, 0)
        self.calm_s = self.column("calm_s", (), np.int64, 0)
        self.mean_w = self.column("mean_w", (), np.float64, 0.0)
        self.calm_w = self.column("calm_w", (), np.float64, 0.0)
        self.variance = self.column("variance", (), np.float64, 0.0)  # of one-second means outside pauses
        self.top_w = self.column("top_w", (), np.float64, 0.0)
        self.cells = self.column("cells", (CELLS,), np.float32, 0.0)
        self.startup_w = self.column("startup_w", (STARTUP_STEPS,), np.float32, np.nan)
        self.stalls = self.column("stalls", (), np.int64, 0)
        self.period_s = self.column("period_s", (), np.float64, np.nan)
        self.period_number = self.column("period_number", (), np.int64, 0)
        self.period_variance = self.column("period_variance", (), np.float64, 0.0)
        self.shape_w = self.column("shape_w", (BINS,), np.float32, 0.0)  # the best so far
        self.shape_score = self.column("shape_score", (), np.float64, 0.0)
        self.shape_period_s = self.column("shape_period_s", (), np.float64, np.nan)
        self.slowed_s = self.column(
            "slowed_s", (LIMIT_CELLS,), np.float64, np.nan
        )  # period under such a limit
        self.slowed_number = self.column("slowed_number", (LIMIT_CELLS,), np.int64, 0)

    def see(self, outlook: Outlook, detector: Detector, ranges: Rows, rows: Array) -> None:
        """One closed block of these rows, after `outlook` saw it."""
        history, pulse, block = outlook.history, outlook.pulse, outlook.history.block
        second_w = history.mean(1)[rows]
        heard = np.isfinite(second_w)
        second_w = np.where(heard, second_w, 0.0)
        max_w = ranges.max_w[rows]
        self._start_up(rows, second_w, heard, history.age[rows])
        self.loaded_s[rows] += heard & (second_w > LOADED * max_w)
        counts = heard & self.past_set_up(history.age)[rows]
        hidden = counts & (history.hidden[rows, block % BLOCKS] > 0)
        self.hidden_s[rows] += hidden
        self.seconds[rows] += counts
        pace = 1.0 / np.clip(self.seconds[rows], 1, _MEMORY_S)
        self.mean_w[rows] += np.where(counts, pace * (second_w - self.mean_w[rows]), 0.0)
        calm = counts & ~pulse.in_dip[rows] & (pulse.quiet[rows] >= BLOCK_SLOTS)
        self.calm_s[rows] += calm
        pace = 1.0 / np.clip(self.calm_s[rows], 1, _MEMORY_S)
        off_w = second_w - self.calm_w[rows]
        self.calm_w[rows] += np.where(calm, pace * off_w, 0.0)
        self.variance[rows] += np.where(calm, pace * ((1 - pace) * off_w**2 - self.variance[rows]), 0.0)
        left_s = SLOT_S * pulse.left[rows]
        with np.errstate(invalid="ignore"):
            self.stalls[rows] += counts & (left_s < LONG_S)
        top_w = history.demand.top[rows, block % BLOCKS]
        self.top_w[rows] = np.maximum(self.top_w[rows], np.where(counts & np.isfinite(top_w), top_w, 0.0))
        at = (block % BLOCKS) * BLOCK_SLOTS % SLOTS
        some = counts if len(rows) <= _FEW else counts & _drawn(rows, block)
        self._count(rows[some], history.demand.value[rows[some], at : at + BLOCK_SLOTS], max_w[some])
        some = counts & (rows % _PERIODS_EVERY_S == block % _PERIODS_EVERY_S)
        self._periods(outlook, detector, rows[some], ranges)

    def past_set_up(self, age_s: Array) -> Array:
        """Rows whose samples tell of the work itself; (rows,)."""
        return np.asarray((self.loaded_s >= LOADED_S) | (age_s >= LATE_S))

    def draw_shape(self, row: int, outlook: Outlook, detector: Detector, max_w: float) -> None:
        """Look whether the newest iterations make a better shape than the one remembered of this run."""
        self.shape_score[row] *= _FADES
        period_s = float(detector.periods.period_s[row])
        if detector.alias[row] or not np.isfinite(period_s) or outlook.pulse.in_dip[row]:
            return
        beat = outlook.history.beat(np.array([row]), SLOTS - BLOCK_SLOTS)[0]
        pulse = outlook.pulse
        found = sketch(beat, period_s / SLOT_S, pulse.shape_w[row] + pulse.level_w[row], max_w)
        if found is not None and found.score > self.shape_score[row]:
            self.shape_w[row], self.shape_score[row] = found.shape_w, found.score
            self.shape_period_s[row] = period_s

    def quantile_w(self, row: int, share: float, max_w: float) -> float:
        """Of the 0.1 s means; by the cell it falls into."""
        total = np.cumsum(self.cells[row], dtype=np.float64)
        if total[-1] <= 0:
            return 0.0
        wanted = share * total[-1]
        cell = int(np.searchsorted(total, wanted))
        before = float(total[cell - 1]) if cell else 0.0
        within = (wanted - before) / max(float(total[cell]) - before, 1e-9)
        return float((cell + within) / CELLS * TOP * max_w)

    def _start_up(self, rows: Array, second_w: Array, heard: Array, age_s: Array) -> None:
        step = ((age_s - 1) / STARTUP_STEP_S).astype(np.int64)
        early = heard & (age_s > 0) & (step < STARTUP_STEPS)
        some, at = rows[early], step[early]
        old = self.startup_w[some, at]
        self.startup_w[some, at] = np.where(np.isnan(old), second_w[early], 0.5 * (old + second_w[early]))

    def _count(self, rows: Array, values_w: Array, max_w: Array) -> None:
        there = np.isfinite(values_w)
        kept_w = np.where(there, values_w, 0.0)
        cell = np.clip(kept_w / np.maximum(TOP * max_w[:, None], 1e-9) * CELLS, 0, CELLS - 1).astype(np.int64)
        flat = (np.arange(len(rows))[:, None] * CELLS + cell)[there]
        self.cells[rows] += np.bincount(flat, minlength=len(rows) * CELLS).reshape(len(rows), CELLS)
        full = rows[self.cells[rows].sum(axis=1) > BLOCK_SLOTS * _MEMORY_S]
        self.cells[full] *= np.float32(0.5)

    def _periods(self, outlook: Outlook, detector: Detector, rows: Array, ranges: Rows) -> None:
        history = outlook.history
        period_s = np.where(detector.alias, np.nan, detector.periods.period_s)[rows]
        there = np.isfinite(period_s) & ~detector.periods.held[rows]
        rows, period_s = rows[there], period_s[there]
        hidden = (history.blocks_back(history.hidden, _STEADY_S)[rows] > 0).mean(axis=1)
        free, bound = hidden == 0, np.flatnonzero(hidden >= 0.5)
        some = rows[free]
        self.period_number[some] += _PERIODS_EVERY_S
        pace = _PERIODS_EVERY_S / np.minimum(self.period_number[some], _MEMORY_S)
        old = np.where(np.isfinite(self.period_s[some]), self.period_s[some], period_s[free])
        off = period_s[free] - old
        self.period_s[some] = old + pace * off
        self.period_variance[some] += pace * ((1 - pace) * off**2 - self.period_variance[some])
        limits_w = history.blocks_back(history.limit_w, _STEADY_S)[rows[bound]]
        with np.errstate(invalid="ignore"):
            steady = np.ptp(limits_w, axis=1) <= 0.01 * ranges.max_w[rows[bound]]
        bound = bound[steady]
        some = rows[bound]
        share = ranges.limit_w[some] / np.maximum(ranges.max_w[some], 1e-9)
        cell = np.clip(share * LIMIT_CELLS, 0, LIMIT_CELLS - 1).astype(np.int64)
        self.slowed_number[some, cell] += _PERIODS_EVERY_S
        old = self.slowed_s[some, cell]
        old = np.where(np.isfinite(old), old, period_s[bound])
        pace = _PERIODS_EVERY_S / np.minimum(self.slowed_number[some, cell], _MEMORY_S)
        self.slowed_s[some, cell] = old + pace * (period_s[bound] - old)


def _drawn(rows: Array, block: int) -> Array:
    """A fifth of the rows, another one each time, in step with no period."""
    mixed = (rows.astype(np.uint64) + np.uint64(block * 7919)) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray((mixed >> np.uint64(40)) % np.uint64(5) == 0)
