"""How late each meter tells, found by what boards drew: then every reading says at once what stands beside them.

A meter shows the mean of a second that ended some time ago. What it shows less what boards drew in that same second
is what nobody limits; with another second taken for it, every move of the boards shows in the difference. So the
lateness is the one by which the difference wanders least from reading to reading, whatever else jumps now and then.
A meter whose best difference still wanders teaches nothing here, nor does one that averages for longer: it hardly
moves while boards do, and some lateness would fit it by chance.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

COLUMNS: Final = 10
"""Of 100 ms: what one reading is the mean of."""
LATEST: Final = 30
"""Columns: a meter is later by no more than so many."""
MEMORY: Final = 60.0
"""Readings over which it is found how a difference wanders."""
ENOUGH: Final = 20.0
CLEAR_SHARE: Final = 0.01
"""Of what the meter shows: a difference that wanders by more from one reading to the next is not looked at singly."""
FOLLOWS_SHARE: Final = 0.5
"""Of how boards move from second to second: a meter that moves less does not show seconds."""
_KEPT: Final = LATEST + COLUMNS + 1


class Beside(NamedTuple):
    """(D,) what a reading leaves for what boards did not draw, how far that wanders, whether both are clear."""

    watts: Floats
    wanders_w: Floats
    clear: Bools


class Lateness:
    """Columns over domains (D,)."""

    def __init__(self, domains: int) -> None:
        self._totals = np.zeros((_KEPT, domains))  # board part summed up to each of the newest columns
        self._at, self._filled = 0, 0
        self._left_w = np.full((LATEST + 1, domains), np.nan)  # of the last reading, by lateness
        self.wanders_w = np.zeros((LATEST + 1, domains))
        self.heard = np.zeros(domains)
        self._meter_w, self._drawn_w = np.full(domains, np.nan), np.zeros((LATEST + 1, domains))
        self.meter_moves_w, self.boards_move_w = np.zeros(domains), np.zeros(domains)

    @property
    def columns(self) -> Ints:
        """Lateness (D,) in columns of 100 ms, counted to the end of the second that is shown."""
        return np.asarray(self.wanders_w.argmin(axis=0), dtype=np.int64)

    def add(self, part_w: Floats) -> None:
        """Take the board part of the newest columns (k, D)."""
        for row in part_w:
            before = self._totals[self._at]
            self._at = (self._at + 1) % _KEPT
            self._totals[self._at] = before + row
        self._filled += len(part_w)

    def hear(self, meter_w: Floats) -> Beside | None:
        """Take readings (D,), NaN where there is none; None until boards were watched for long enough."""
        if self._filled < _KEPT:
            return None
        ends = self._totals[(self._at - np.arange(LATEST + 1)) % _KEPT]
        begins = self._totals[(self._at - COLUMNS - np.arange(LATEST + 1)) % _KEPT]
        drawn_w = (ends - begins) / COLUMNS
        left_w = meter_w - drawn_w
        both = np.isfinite(left_w[0]) & np.isfinite(self._left_w[0])
        share = 1.0 / np.minimum(self.heard + 1.0, MEMORY)
        moved_w = np.where(both, np.abs(left_w - self._left_w), self.wanders_w)
        self.wanders_w += share * (moved_w - self.wanders_w)
        self._follow(meter_w, drawn_w, np.where(both, share, 0.0))
        self.heard += both
        self._left_w = np.where(np.isfinite(left_w[0]), left_w, self._left_w)
        best, every = self.columns, np.arange(len(meter_w))
        watts, wanders_w = left_w[best, every], self.wanders_w[best, every]
        with np.errstate(invalid="ignore"):
            clear = (self.heard >= ENOUGH) & (wanders_w <= CLEAR_SHARE * meter_w)
            clear &= self.meter_moves_w + CLEAR_SHARE * meter_w >= FOLLOWS_SHARE * self.boards_move_w
        return Beside(watts, wanders_w, clear)

    def _follow(self, meter_w: Floats, drawn_w: Floats, share: Floats) -> None:
        """How meter and boards move from one reading to the next."""
        moved_w = np.abs(np.nan_to_num(meter_w - self._meter_w))
        self.meter_moves_w += share * (moved_w - self.meter_moves_w)
        self.boards_move_w += share * (np.abs(drawn_w - self._drawn_w).mean(axis=0) - self.boards_move_w)
        self._meter_w, self._drawn_w = np.where(np.isfinite(meter_w), meter_w, self._meter_w), drawn_w
