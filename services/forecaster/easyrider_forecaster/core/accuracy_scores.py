"""What was said of one side, draw or demand, until its windows have passed, and the sums of how right it was."""

from dataclasses import dataclass

import numpy as np

from easyrider_forecaster.core.accuracy_origins import SLOTS, Place
from easyrider_forecaster.core.accuracy_seen import ABSURD_W
from easyrider_forecaster.core.arrays import HORIZONS_S, Array
from easyrider_forecaster.core.lanes import Lanes
from easyrider_forecaster.core.outlook import View

WINDOWS, ERROR, RIVAL, BIAS, PEAK, MISS90, MISS99, ABOVE90, ABOVE99, OVER90, OVER99 = range(11)
"""Sums over windows: their number; |mean error|, the last second's, and the signed one; |peak error|; bounds that did
not hold; how far the peak lay above each bound, zero below it; and the same, signed. W of one GPU."""
SUMS = 11
GAP, HIDDEN, ASSUMED = range(3)
"""Why a window is left out: samples missing or no forecast; hidden or moved by a limit; nothing was known yet."""
LATELY_S = 600.0
_TURN_S = 60
"""Between two turns of a sum new ones are added to a small one, in float32, and then that to the others."""
_HALF_A_WATT = np.float32(0.5)
_PARTS = ("mean_w", "peak_w", "q90_w", "q99_w")
_TRAIL = HORIZONS_S.index(10)
TRAIL_STEP_S, TRAIL_POINTS = HORIZONS_S[_TRAIL], 36


@dataclass(frozen=True, slots=True)
class Came:
    """What came in one horizon's window, (rows,), and how far the last second before it was off."""

    mean_w: Array
    peak_w: Array
    rival_error_w: Array
    whole: Array  # samples are there, and those of the second before


class Scores(Lanes):
    """One row a group. Sums of a whole run take a minute at a time, or small errors would be lost in them."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        horizons = len(HORIZONS_S)
        self._turned = [-_TURN_S * column // horizons for column in range(horizons)]  # not all in one second
        self.said_w = self.lane("said_w", (len(_PARTS), SLOTS), np.float32, np.nan)
        self.run = self.lane("run", (SUMS, horizons), np.float32, 0.0)
        self.lately = self.lane("lately", (SUMS, horizons), np.float32, 0.0)
        self.fresh = self.lane("fresh", (SUMS, horizons), np.float32, 0.0)
        self.left_out = self.lane("left_out", (3, horizons), np.uint32, 0)

    def note(self, places: list[Place], view: View, known: Array) -> None:
        """What is said of these windows; rows that are not `known` lean on what was assumed.

        An assumption is kept as an infinite mean: it is told apart from nothing said, which is NaN.
        """
        assumed = ~known
        with np.errstate(all="ignore"):
            for part, name in enumerate(_PARTS):
                watts = getattr(view, name)
                for place in places:
                    self.said_w[part, place.slot] = watts[:, place.column]
            if assumed.any():
                for place in places:
                    self.said_w[0, place.slot, assumed] = np.inf

    def forecast_w(self, place: Place) -> Array:
        """(4, rows): mean, peak, 0.90 and 0.99 bound, as said of this window."""
        return self.said_w[:, place.slot]

    def judge(self, place: Place, came: Came, free: Array) -> None:
        """What came of one window. `free` says where no limit is in the way of a verdict, (rows,)."""
        column = place.column
        said_w, fresh = self.forecast_w(place), self.fresh[:, column]
        with np.errstate(all="ignore"):
            sane = (np.minimum.reduce(said_w) >= 0) & (np.maximum.reduce(said_w) <= ABSURD_W)
            table = np.empty((SUMS, self.rows), np.float32)
            table[WINDOWS] = 1.0
            np.subtract(said_w[0], came.mean_w, out=table[BIAS])
            np.abs(table[BIAS], out=table[ERROR])
            table[RIVAL] = came.rival_error_w
            np.subtract(said_w[1], came.peak_w, out=table[PEAK])
            np.abs(table[PEAK], out=table[PEAK])
            np.subtract(came.peak_w, said_w[2:4], out=table[OVER90 : OVER99 + 1])
            over = table[OVER90 : OVER99 + 1]
            np.greater(over, _HALF_A_WATT, out=table[MISS90 : MISS99 + 1])
            np.maximum(over, np.float32(0.0), out=table[ABOVE90 : ABOVE99 + 1])
        there = came.whole & sane
        scored = there & free
        if not scored.all():
            self._leave_out(column, said_w[0], sane, there, free)
            np.copyto(table, np.float32(0.0), where=~scored)
        fresh += table
        since_s = place.origin - self._turned[column]
        if since_s >= _TURN_S:
            self.run[:, column] += fresh
            self.lately[:, column] *= np.float32(np.exp(-min(since_s, LATELY_S) / LATELY_S))
            self.lately[:, column] += fresh
            fresh[:] = 0.0
            self._turned[column] = place.origin

    def sums(self, rows: Array) -> tuple[Array, Array]:
        """Of the whole run and of late, (SUMS, horizons, len(rows)) each."""
        fresh = self.fresh[:, :, rows]
        return self.run[:, :, rows] + fresh, self.lately[:, :, rows] + fresh

    def _leave_out(self, column: int, mean_w: Array, sane: Array, there: Array, free: Array) -> None:
        lost = self.left_out[:, column]
        lost[ASSUMED] += np.isposinf(mean_w)
        lost[HIDDEN] += there & ~free
        lost[GAP] += sane & ~there


class Trail(Lanes):
    """Of every tenth second: what was said of the ten before, and what came; newest last in `ordered`."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.watts = self.lane("watts", (TRAIL_POINTS, 4), np.float16, np.nan)  # for the eye
        self._last = -1

    def begin(self, block: int) -> bool:
        """True where a point belongs to this block; it is empty until it is taken."""
        if block % TRAIL_STEP_S:
            return False
        self._last = block
        self.watts[(block // TRAIL_STEP_S) % TRAIL_POINTS] = np.nan
        return True

    def take(self, said_w: Array, mean_w: Array, peak_w: Array, whole: Array) -> None:
        """`said_w` is (4, rows) of 10 s; where nothing was said or samples miss the point stays NaN."""
        at = self.watts[(self._last // TRAIL_STEP_S) % TRAIL_POINTS]
        with np.errstate(all="ignore"):
            told = (said_w >= 0) & (said_w <= ABSURD_W)
            at[0], at[1] = (
                np.where(told[0], said_w[0], np.nan),
                np.where(told[0] & told[3], said_w[3], np.nan),
            )
            at[2], at[3] = np.where(whole, mean_w, np.nan), np.where(whole, peak_w, np.nan)

    def ordered(self, rows: Array) -> Array:
        """(points, 4, len(rows)), oldest first: mean said, 0.99 bound said, mean seen, peak seen."""
        newest = self._last // TRAIL_STEP_S if self._last >= 0 else 0
        order = (newest + 1 + np.arange(TRAIL_POINTS)) % TRAIL_POINTS
        return np.asarray(self.watts[order[:, None], :, rows[None, :]].transpose(0, 2, 1))

    @property
    def ends(self) -> int:
        """One past the block of the newest point; 0 where there is none."""
        return self._last + 1
