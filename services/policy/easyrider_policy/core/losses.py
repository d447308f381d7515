"""Planned losses that are in force now: on battery, a feed without mains, cooling that fails, as meters tell them.

A loss is believed at once. That it is over is believed only of a good reading of a meter that passed its gate, and a
supply that has told nothing yet counts as lost: its last state may have been the worse one.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from easyrider.messages import MeterReading
from easyrider.tree import Contingency
from easyrider_policy.core.battery import Battery
from easyrider_policy.core.fleet import Fleet

Floats = NDArray[np.float64]

DEAD_SHARE: Final = 0.1
"""Of a feed's voltage: below it there are no mains."""
DEAD_V: Final = 20.0
"""The same where no voltage is declared."""
COOL_AGAIN_C: Final = 2.0
"""Below its threshold, a temperature is good again: it must not flicker around it."""


class Planned(NamedTuple):
    """One planned loss that meters can tell of: the domain it binds, and the domain whose meter tells."""

    domain: int
    told_by: int
    loss: Contingency


class Losses:
    """Limits (D,) that losses leave now; infinite where none is in force."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.planned = _planned(fleet)
        self.standing = [True] * len(self.planned)  # untold is the worse state
        self.told = [False] * len(self.planned)
        self.batteries = [Battery(one.loss.runtime_s) for one in self.planned]
        self.hard_w: Floats = np.full(len(fleet.domains), np.inf)
        self.target_w: Floats = np.full(len(fleet.domains), np.inf)
        self._names: dict[int, tuple[str, ...]] = {}
        self._sum_up()

    def heard(self, reading: MeterReading, now_s: float) -> None:
        """What a reading tells of the losses that hang on its domain."""
        row = self.fleet.domain_index.get(reading.domain)
        trusted = reading.quality == "good" and reading.gated
        moved = False
        for at, one in enumerate(self.planned):
            if one.told_by != row or (lost := self._lost(one, reading)) is None:
                continue
            if lost or trusted:
                moved |= lost != self.standing[at]
                self.standing[at], self.told[at] = lost, True
                moved |= self.batteries[at].heard(lost, reading.battery_pct, now_s)
        if moved:
            self._sum_up()

    @property
    def dark(self) -> frozenset[str]:
        """Feeds that meters tell to be without mains: what they carried is drawn from the others."""
        rows = zip(self.planned, self.standing, self.told, strict=True)
        return frozenset(
            self.fleet.domains[one.told_by]
            for one, stands, told in rows
            if stands and told and one.loss.when == "feed_lost"
        )

    def names(self, domain: int) -> tuple[str, ...]:
        """Losses in force in a domain."""
        return self._names.get(domain, ())

    def battery_left_s(self, domain: int) -> float | None:
        """How long the battery lasts at the target of its contingency; None: on mains, or not known."""
        if domain not in self._names:
            return None
        left = [
            battery.left_s
            for one, stands, battery in zip(self.planned, self.standing, self.batteries, strict=True)
            if stands and one.domain == domain and battery.left_s is not None
        ]
        return min(left, default=None)

    def carried(self, fleet: Fleet) -> "Losses":
        """The same knowledge on another fleet; a loss that was not planned before is untold."""
        new = Losses(fleet)
        known = {(self.fleet.domains[one.domain], one.loss): at for at, one in enumerate(self.planned)}
        for at, one in enumerate(new.planned):
            before = known.get((fleet.domains[one.domain], one.loss))
            if before is not None:
                new.standing[at], new.told[at] = self.standing[before], self.told[before]
                new.batteries[at] = self.batteries[before]
        new._sum_up()
        return new

    def _lost(self, one: Planned, reading: MeterReading) -> bool | None:
        """Whether the loss is there by this reading; None: it says nothing of it."""
        if one.loss.when == "on_battery":
            return reading.on_battery
        if one.loss.when == "feed_lost":
            nominal_v = self.fleet.domain_records[one.told_by].voltage_v
            least_v = DEAD_V if nominal_v is None else DEAD_SHARE * nominal_v
            return None if reading.voltage_v is None else reading.voltage_v < least_v
        if reading.temperature_c is None or one.loss.above_c is None:
            return None
        hot = self.standing[self.planned.index(one)]
        return reading.temperature_c >= one.loss.above_c - (COOL_AGAIN_C if hot else 0.0)

    def _sum_up(self) -> None:
        self.hard_w = np.full(len(self.fleet.domains), np.inf)
        self.target_w = np.full(len(self.fleet.domains), np.inf)
        self._names = {}
        for one, stands, battery in zip(self.planned, self.standing, self.batteries, strict=True):
            if not stands:
                continue
            self._names[one.domain] = (*self._names.get(one.domain, ()), one.loss.name)
            record = self.fleet.domain_records[one.domain]
            share = record.aim_w / record.hard_w if record.hard_w > 0 else 1.0
            aim_w = share * one.loss.hard_limit_w if one.loss.target_w is None else one.loss.target_w
            self.hard_w[one.domain] = min(self.hard_w[one.domain], one.loss.hard_limit_w)
            self.target_w[one.domain] = min(self.target_w[one.domain], aim_w * battery.share)


def _planned(fleet: Fleet) -> list[Planned]:
    """Losses with a meter to tell of them; without one they are planned for, and never in force."""
    found = []
    for row, record in enumerate(fleet.domain_records):
        for loss in record.contingencies:
            told_by = row if loss.feed is None else fleet.domain_index.get(loss.feed)
            if loss.when is not None and told_by is not None and fleet.domain_records[told_by].meters:
                found.append(Planned(row, told_by, loss))
    return found
