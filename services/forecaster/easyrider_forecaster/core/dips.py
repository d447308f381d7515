"""Stalls and checkpoints: what dips were seen, how long they last, and when the next regular one is due.

The clock counts seconds outside dips, so the distance between two checkpoints is immune to stalls between them.
"""

from dataclasses import dataclass

import numpy as np

from easyrider_forecaster.core.arrays import HORIZONS_S, Array, Rowed
from easyrider_forecaster.core.pulse import Pulse

LONG_S = 4.5
_STARTS = 8
LENGTHS = 12
PRIOR_S = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
PRIOR_WEIGHT = 0.25
UNLIKELY = 0.1
DUE_PRIOR = 0.02
HALF = 0.500001
"""Weights are round numbers: a tie must not hang on the order of a sum."""
ANNOUNCED_TOLERANCE_S = 1.5
_SAME, _SAME_S = 0.03, 1.0
TOLERANCE_S, TOLERANCE = 1.5, 0.015
_STEPS = np.asarray(HORIZONS_S, np.float64)


@dataclass(frozen=True, slots=True)
class Ahead:
    """Seconds of dip within each horizon and whether one lasts through it, (rows, horizons); the rest is (rows,).

    `until_s` the next regular one is due, give or take `tolerance_s`; a present one will last `left_s` more.
    """

    inside_s: Array
    through: Array
    until_s: Array
    tolerance_s: Array
    left_s: Array


class Dips(Rowed):
    """One row a group; seconds throughout."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.starts_s = self.column("starts_s", (_STARTS,), np.float64, np.nan)  # long ones, newest last
        self.lengths_s = self.column("lengths_s", (LENGTHS,), np.float64, np.nan)
        self.long_lengths_s = self.column("long_lengths_s", (_STARTS,), np.float64, np.nan)
        self.cadence_s = self.column("cadence_s", (), np.float64, np.nan)
        self.anchor_s = self.column(
            "anchor_s", (), np.float64, np.nan
        )  # the last start that kept the cadence
        self.long_s = self.column("long_s", (), np.float64, np.nan)  # median length of long ones
        self.depth_w = self.column("depth_w", (), np.float64, np.nan)  # mean of the last long ones
        self.announced_s = self.column("announced_s", (), np.float64, np.nan)  # due, by the clock
        self.due = self.column("due", (), np.bool_, False)  # the present dip was expected
        self.began_w = self.column("began_w", (), np.float64, np.nan)

    def note(self, pulse: Pulse, mean_w: Array) -> None:
        """After each block: keep dips that ended, and say of those that began whether they were due."""
        for row in np.flatnonzero(pulse.entered).tolist():
            u_s, tolerance_s = self._until_s(row, float(pulse.dip_clock[row]) / 10.0)
            self.due[row] = bool(abs(u_s) <= tolerance_s)
        for row in np.flatnonzero(np.isfinite(pulse.left)).tolist():
            self._keep(row, float(pulse.left[row]) / 10.0, float(pulse.dip_clock[row]) / 10.0)
            self.due[row] = False
        inside = pulse.in_dip & np.isfinite(mean_w) & (pulse.dip_age >= 12)
        first = inside & ~np.isfinite(self.began_w)
        self.began_w[first] = mean_w[first]
        self.began_w += np.where(inside & ~first, 0.2 * (mean_w - self.began_w), 0.0)
        finished = np.isfinite(pulse.left)
        long = finished & (pulse.left >= 10 * LONG_S) & np.isfinite(self.began_w)
        self.depth_w[long] = np.where(
            np.isfinite(self.depth_w[long]),
            0.5 * (self.depth_w[long] + self.began_w[long]),
            self.began_w[long],
        )
        self.began_w[~pulse.in_dip] = np.nan

    def announce(self, row: int, in_s: float, clock_s: float) -> None:
        """A dip of this row was announced `in_s` seconds from now; it replaces the cadence until it is past."""
        self.announced_s[row] = clock_s + in_s

    def told(self, pulse: Pulse) -> list[int]:
        """Rows outside dips of which one is announced that is not past."""
        with np.errstate(invalid="ignore"):
            ahead = self.announced_s - pulse.clock / 10.0 > -ANNOUNCED_TOLERANCE_S
        rows: list[int] = np.flatnonzero(ahead & ~pulse.in_dip & np.isfinite(self.depth_w)).tolist()
        return rows

    def until_s(self, pulse: Pulse) -> tuple[Array, Array]:
        """Seconds (outside dips) until the next regular dip, and how far off that may be; NaN where none is known."""
        clock_s = pulse.clock / 10.0
        tolerance_s = np.maximum(TOLERANCE_S, TOLERANCE * self.cadence_s)
        with np.errstate(invalid="ignore", divide="ignore"):
            turns = np.maximum(np.ceil((clock_s - tolerance_s - self.anchor_s) / self.cadence_s), 1.0)
            told = self.announced_s - clock_s > -ANNOUNCED_TOLERANCE_S
        due_s = np.where(told, self.announced_s, self.anchor_s + turns * self.cadence_s)
        return due_s - clock_s, np.where(told, ANNOUNCED_TOLERANCE_S, tolerance_s)

    def ahead(self, pulse: Pulse) -> Ahead:
        """What is to be expected of every row from here on."""
        until_s, tolerance_s = self.until_s(pulse)
        known = np.isfinite(until_s) & ~pulse.in_dip
        longest = np.where(np.isfinite(self.long_s), self.long_s, 10.0)[:, None]
        wait = np.where(known, np.maximum(until_s, 0.0), np.inf)[:, None]
        inside_s = np.clip(_STEPS - wait, 0.0, np.minimum(longest, _STEPS))
        through, left_s = np.zeros(inside_s.shape, np.bool_), np.full(self.rows, np.nan)
        for row in np.flatnonzero(pulse.in_dip).tolist():
            inside_s[row], through[row] = self._remaining(row, float(pulse.dip_age[row]) / 10.0)
            left_s[row] = inside_s[row, -1]
        return Ahead(inside_s, through, until_s, tolerance_s, left_s)

    def _remaining(self, row: int, age_s: float) -> tuple[Array, Array]:
        """Of a dip that is `age_s` old: mean seconds left within each horizon, and whether it outlasts it."""
        lengths = self.lengths_s[row]
        lengths = lengths[np.isfinite(lengths)]
        long = lengths >= LONG_S
        weights = np.ones(len(lengths))
        prior = PRIOR_WEIGHT
        if self.due[row] and long.any():
            weights[~long] = 0.0
            prior = DUE_PRIOR
        elif np.isfinite(self.cadence_s[row]):
            weights[long] = UNLIKELY
        lengths = np.concatenate((lengths, PRIOR_S, [2.0 * age_s]))
        weights = np.concatenate((weights, np.full(len(PRIOR_S) + 1, prior)))
        alive = lengths > age_s
        left, weights = lengths[alive] - age_s, weights[alive]
        total = weights.sum()
        if total <= 0.0:
            return _STEPS.copy(), np.ones(len(_STEPS), np.bool_)
        mean = (weights[:, None] * np.minimum(left[:, None], _STEPS)).sum(axis=0) / total
        outlasts = (weights[:, None] * (left[:, None] >= _STEPS)).sum(axis=0) / total > HALF
        return mean, outlasts

    def _until_s(self, row: int, clock_s: float) -> tuple[float, float]:
        cadence_s, anchor_s = float(self.cadence_s[row]), float(self.anchor_s[row])
        if np.isfinite(self.announced_s[row]) and abs(self.announced_s[row] - clock_s) <= 2 * TOLERANCE_S:
            return float(self.announced_s[row]) - clock_s, 2 * TOLERANCE_S
        if not np.isfinite(cadence_s + anchor_s):
            return np.inf, 0.0
        turns = max(round((clock_s - anchor_s) / cadence_s), 1)
        return anchor_s + turns * cadence_s - clock_s, max(TOLERANCE_S, TOLERANCE * cadence_s) + _SAME_S

    def _keep(self, row: int, length_s: float, start_s: float) -> None:
        self.lengths_s[row] = np.append(self.lengths_s[row, 1:], length_s)
        if length_s < LONG_S:
            return
        self.long_lengths_s[row] = np.append(self.long_lengths_s[row, 1:], length_s)
        starts = self.starts_s[row] = np.append(self.starts_s[row, 1:], start_s)
        starts = starts[np.isfinite(starts)]
        lengths = self.lengths_s[row]
        self.long_s[row] = np.median(lengths[lengths >= LONG_S])
        apart = starts[None, :] - starts[:, None]
        candidates = apart[apart > 2 * LONG_S]
        if not len(candidates):
            return
        near = np.abs(apart[None] - candidates[:, None, None]) <= _SAME * candidates[:, None, None] + _SAME_S
        hits = near.any(axis=1).sum(axis=1)
        best = int(np.lexsort((candidates, -hits))[0])
        if hits[best] < (1 if len(starts) <= 3 else 2):
            self.cadence_s[row] = np.nan
            return
        like = np.abs(apart - candidates[best]) <= _SAME * candidates[best] + _SAME_S
        self.cadence_s[row] = float(np.mean(apart[like]))
        ends = np.flatnonzero(like.any(axis=0))
        self.anchor_s[row] = starts[ends[-1]]
