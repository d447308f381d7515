"""What is kept of every group's beat: plateau, low runs, dips, the shape of an iteration and where in it we are.

A low run is communication where such runs come regularly, and a dip (a stall, a checkpoint) where it lasts longer
than they do. Slots are 0.1 s, phases lie in [0, 1), watts are per GPU.
"""

import numpy as np

from easyrider_forecaster.core.arrays import Array, Rowed

BINS = 64
RUNS = 32
LOW_SHARE = 0.33
"""A sample is low when it lies this share of the plateau's height over idle below the plateau."""
YOUNG_SLOTS = 1000
YOUNG_PATIENCE = 70.0
SHORT_PATIENCE = 4.0
MEMORY_SLOTS = 2000
ALIKE = 0.3


class Pulse(Rowed):
    """One row a group."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.heard = self.column("heard", (), np.int64, 0)  # slots since the row was cleared
        self.plateau_w = self.column("plateau_w", (), np.float64, np.nan)
        self.low_run = self.column("low_run", (), np.int64, 0)
        self.high_run = self.column("high_run", (), np.int64, 0)  # slots not low inside a dip
        self.patience = self.column("patience", (), np.float64, YOUNG_PATIENCE)
        self.usual_run = self.column("usual_run", (), np.float64, np.nan)
        self.in_dip = self.column("in_dip", (), np.bool_, False)
        self.dip_age = self.column("dip_age", (), np.int64, 0)
        self.quiet = self.column("quiet", (), np.int64, 100_000)  # slots since the last dip ended
        self.clock = self.column("clock", (), np.float64, 0.0)  # slots outside dips
        self.dip_clock = self.column("dip_clock", (), np.float64, np.nan)  # its reading when the dip began
        self.left = self.column("left", (), np.float64, np.nan)  # length of a dip that ended in this block
        self.entered = self.column("entered", (), np.bool_, False)
        self.restarted = self.column("restarted", (), np.bool_, False)
        self.runs = self.column("runs", (RUNS,), np.float32, np.nan)
        self.run_ends = self.column("run_ends", (RUNS,), np.int64, 0)
        self.run_at = self.column("run_at", (), np.int64, 0)
        self.period = self.column("period", (), np.float64, np.nan)  # slots
        self.phase = self.column("phase", (), np.float64, 0.0)  # at the end of the last slot
        self.level_w = self.column("level_w", (), np.float64, 0.0)
        self.held = self.column("held", (), np.float64, 0.0)
        self.run_phase = self.column("run_phase", (), np.float64, 0.0)  # advanced during the present low run
        self.shape_w = self.column("shape_w", (BINS,), np.float32, 0.0)
        self.visits = self.column("visits", (BINS,), np.float32, 0.0)

    def reach_w(self, floor_w: Array, max_w: Array) -> Array:
        """Height of the plateau over idle, at least a twentieth of the device maximum, (rows,)."""
        return np.asarray(np.maximum(self.plateau_w - floor_w, 0.05 * max_w))

    def low_line_w(self, floor_w: Array, max_w: Array) -> Array:
        """Watts below which a sample is low, (rows,); NaN before the first sample."""
        return np.asarray(self.plateau_w - LOW_SHARE * self.reach_w(floor_w, max_w))

    def judge_runs(self) -> None:
        """How long a low run may last before it is a dip: 1.4 x the usual run + 0.4 s where runs are alike."""
        kept = np.isfinite(self.runs) & (self.heard[:, None] - self.run_ends <= MEMORY_SLOTS)
        ordered = np.sort(np.where(kept, self.runs, np.inf), axis=1)
        number = kept.sum(axis=1)
        middle = np.clip(number // 2, 0, RUNS - 1)
        median = ordered[np.arange(self.rows), middle]
        with np.errstate(invalid="ignore"):
            # runs are counted in whole slots: one of 2 and one of 3 are alike
            slack = np.maximum(ALIKE * median, 1.01)[:, None]
            alike = (kept & (np.abs(self.runs - median[:, None]) <= slack)).sum(axis=1)
        regular = alike >= np.maximum(4, 0.55 * number)
        young = self.heard < YOUNG_SLOTS
        short = np.where(young, YOUNG_PATIENCE, SHORT_PATIENCE)
        self.usual_run[:] = np.where(regular, median, np.nan)
        self.patience[:] = np.where(regular, 1.4 * np.where(regular, median, 0.0) + 4.0, short)

    def restart(self, rows: Array) -> None:
        """A new regime in these rows alone: shape and runs are forgotten, the clock and the record of dips stay."""
        self.restarted[:] = False
        self.in_dip[rows] = False
        self.dip_age[rows], self.low_run[rows], self.high_run[rows] = 0, 0, 0
        self.runs[rows] = np.nan
        self.plateau_w[rows] = np.nan
        self.period[rows] = np.nan
        self.level_w[rows] = 0.0
        self.visits[rows] = 0.0
        self.quiet[rows] = 100_000
        self.restarted[rows] = True
