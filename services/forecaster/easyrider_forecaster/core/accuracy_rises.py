"""Rises that were foretold: how long before, how many came unannounced, and how many announced ones never came.

A rise is a sample above the line that separates low from high, right after one below it; the line is the one in use
when the forecast was made. An announcement stands as long as what is said stays within its tolerance (1 s, or a fifth
of its lead). It is right if a rise comes within that tolerance, false if none does, and withdrawn if the forecaster
thinks better of it before it is due.
"""

import numpy as np

from easyrider_forecaster.core.arrays import BLOCK_SLOTS, HORIZONS_S, SLOT_S, Array
from easyrider_forecaster.core.lanes import Lanes

LEADS = 15
_FARTHEST_S = HORIZONS_S[-1]
_TOLERANCE_S, _TOLERANCE = 1.0, 0.2


class Rises(Lanes):
    """One row a group; times in s, one a block."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.seen = self.lane("seen", (), np.uint32, 0)
        self.foretold = self.lane("foretold", (), np.uint32, 0)
        self.false = self.lane("false", (), np.uint32, 0)
        self.withdrawn = self.lane("withdrawn", (), np.uint32, 0)
        self.leads_s = self.lane("leads_s", (LEADS,), np.float32, np.nan)
        self._line_w = self.lane("_line_w", (), np.float32, np.nan)
        self._low = self.lane("_low", (), np.bool_, False)
        self._announced_s = self.lane("_announced_s", (), np.float64, np.nan)
        self._since_s = self.lane("_since_s", (), np.float64, np.nan)

    def note(self, origin: int, rise_s: Array, line_w: Array) -> None:
        """Said at the end of block `origin`: seconds to the next rise, NaN where none is known; (rows,)."""
        now_s = origin + 1.0
        with np.errstate(all="ignore"):
            self._line_w[:] = line_w
            expected_s = np.where((rise_s >= 0) & (rise_s <= _FARTHEST_S), now_s + rise_s, np.nan)
            early = np.isfinite(self._announced_s) & (now_s < self._announced_s)
            moved = early & ~(np.abs(expected_s - self._announced_s) <= self._tolerance_s())
        self.withdrawn += moved
        self._announced_s[moved] = np.nan
        fresh = np.isnan(self._announced_s) & np.isfinite(expected_s)
        self._announced_s[fresh], self._since_s[fresh] = expected_s[fresh], now_s

    def pass_over(self) -> None:
        """Forget what is announced."""
        self._announced_s[:], self._low[:] = np.nan, False

    def judge(self, block: int, raw: Array, sound: Array) -> None:
        """One closed block, (rows, 10). Where it is not `sound`, (rows,), by gap or limit, nothing is judged."""
        with np.errstate(all="ignore"):
            slots = np.ascontiguousarray(raw.T)
            low = slots <= self._line_w
            sound = sound & np.isfinite(self._line_w)
            up = ~low
            up[1:] &= low[:-1]
            up[0] &= self._low
            rose = up.any(axis=0) & sound
            at_s = block + SLOT_S * up.argmax(axis=0)
            announced_s, tolerance_s = self._announced_s, self._tolerance_s()
            hit = rose & (np.abs(at_s - announced_s) <= tolerance_s)
            passed = sound & ~hit & (block + 1.0 > announced_s + tolerance_s)
        rows = np.flatnonzero(hit)
        if len(rows):
            self.leads_s[self.foretold[rows] % LEADS, rows] = np.maximum(at_s - self._since_s, 0.0)[rows]
        self.seen += rose
        self.foretold += hit
        self.false += passed
        announced_s[hit | passed | ~sound] = np.nan
        self._low[:] = low[BLOCK_SLOTS - 1] & sound

    def _tolerance_s(self) -> Array:
        return np.maximum(_TOLERANCE_S, _TOLERANCE * (self._announced_s - self._since_s))
