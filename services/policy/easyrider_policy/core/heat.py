"""How warm each protective device is, how long until it opens, and how much more it may take.

Heat runs from 0, cold, to 1, at which the device opens. Above its capacity it rises by 1 / T a second, T being the
time that its curve allows at the present load; within it, it falls with the device's cooling time. A coordinator that
has just begun does not know what was drawn before, nor does one that did not look for a while, since another led or its
loop stood still: both take half of every curve as spent. Whoever watched meanwhile kept that much free by the timing
rule, and a device that still carries its load has not opened; what was hotter before has not surely cooled.
"""

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.fleet import Fleet
from easyrider_policy.core.timing import SHARE
from easyrider_policy.core.trip_curves import TripCurves

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

PRESSED_S: Final = 10.0
"""With less than this until a device opens, what was done before is not waited for: cut now. An ordinary lowering
shows within half of it (control period, meter, sensor, actuation)."""
LONGEST_STEP_S: Final = 5.0
"""A pause of the loop is heat at the present load for so long at most; before, nobody knows what was drawn, and it
counts as a new beginning."""


class Told(NamedTuple):
    """One device for people: seconds and joules are None where they have no end or nothing is known."""

    heat: float | None
    time_to_trip_s: float | None
    excursion_s: float | None
    excursion_j: float | None


_UNKNOWN: Final = Told(None, None, None, None)


class Allowance(NamedTuple):
    """(D,) what a device may still take at its present load, until half of its curve is spent. NaN: no curve.

    Infinite seconds while it is loaded within its capacity; joules are those above the domain's target.
    """

    seconds: Floats
    joules: Floats


class Heat:
    """`spent` (D,): the share of its curve that each device has spent, 0..1; NaN where it has no curve."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.curves = TripCurves(fleet.domain_records)
        self.spent: Floats = np.where(self.curves.known, SHARE, np.nan)
        self.multiple: Floats = np.full(len(fleet.domains), np.nan)
        self._at_s: float | None = None

    def pass_to(self, now_s: float, load_w: Floats, capacity_w: Floats) -> None:
        """Time passes under these wall watts (D,); `capacity_w` (D,): what each device carries for ever, now."""
        elapsed_s = 0.0 if self._at_s is None else max(0.0, now_s - self._at_s)
        self._at_s = now_s
        if elapsed_s > LONGEST_STEP_S:
            elapsed_s = LONGEST_STEP_S
            self.spent = np.maximum(self.spent, SHARE)  # NaN stays: no curve
        self.multiple = _multiples(load_w, capacity_w)
        held_s = self.curves.allowed_s(self.multiple)
        with np.errstate(divide="ignore", invalid="ignore"):
            rises = np.where(held_s > 0, elapsed_s / held_s, 1.0)
            cools = self.spent * np.exp(-elapsed_s / self.curves.cooling_s)
        within = ~(self.multiple > 1.0)
        self.spent = np.where(within, cools, np.minimum(1.0, self.spent + rises))

    @property
    def time_to_trip_s(self) -> Floats:
        """Seconds (D,) until each opens if its load stays: inf within capacity, NaN without a curve."""
        held_s = self.curves.allowed_s(self.multiple)
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(held_s), np.inf, (1.0 - self.spent) * held_s)

    def allowance(self, load_w: Floats, target_w: Floats) -> Allowance:
        """What is left to each domain that draws `load_w` (D,)."""
        held_s = self.curves.allowed_s(self.multiple)
        with np.errstate(invalid="ignore"):
            left_s = np.where(np.isinf(held_s), np.inf, np.maximum(0.0, SHARE - self.spent) * held_s)
            above_w = np.maximum(load_w - target_w, 0.0)
            joules = np.where(above_w > 0, left_s * above_w, np.inf)
        return Allowance(left_s, np.where(self.curves.known, joules, np.nan))

    @property
    def pressed(self) -> Bools:
        """(D,) devices about to open: an emergency, whatever a mean says. Before that an overload is lowered like any
        other; half of a curve is kept for that, and is no emergency while it is being used."""
        with np.errstate(invalid="ignore"):
            found: Bools = (self.multiple > 1.0) & (self.time_to_trip_s < PRESSED_S)
        return found

    def told(self, load_w: Floats, target_w: Floats) -> list[Told]:
        """Every device, as of the last step of time; loads and targets (D,) in wall watts."""
        found = [_UNKNOWN] * len(self.spent)
        rows = np.flatnonzero(self.curves.known)
        left = self.allowance(load_w, target_w)
        columns = (self.spent, self.time_to_trip_s, left.seconds, left.joules)
        told = zip(*(np.round(column[rows], 3).tolist() for column in columns), strict=True)
        for row, values in zip(rows.tolist(), told, strict=True):
            found[row] = Told(*(value if math.isfinite(value) else None for value in values))
        return found

    def carried(self, fleet: Fleet) -> "Heat":
        """The same devices on another fleet; one that was not there before is taken as half spent."""
        new = Heat(fleet)
        new._at_s = self._at_s
        for row, name in enumerate(fleet.domains):
            before = self.fleet.domain_index.get(name)
            if before is not None and self.curves.known[before] and new.curves.known[row]:
                new.spent[row], new.multiple[row] = self.spent[before], self.multiple[before]
        return new


def _multiples(load_w: Floats, capacity_w: Floats) -> Floats:
    """Load over capacity; a device that carries nothing is overloaded without end by the first watt."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(capacity_w > 0, load_w / capacity_w, np.where(load_w > 0, np.inf, 0.0))
