"""Planned losses that are in force now: on battery, a feed without mains, cooling that fails, as meters tell them.

A loss is believed at once, of any meter, and stands until the meter that told it takes it back. That it is over is
believed only of a good reading of a meter that passed its gate, for three of its periods: a supply of which no meter
says so now counts as lost, since its state may be the worse one (shared/decisions/0027).
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from easyrider.messages import MeterReading
from easyrider.tree import Contingency
from easyrider_policy.core.battery import Battery
from easyrider_policy.core.fleet import Fleet
from easyrider_policy.core.unmanaged import LONGEST_PERIOD_S, STALE_PERIODS

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


class Word(NamedTuple):
    """What one meter said last of one loss; that there is none holds until `ends_s`."""

    lost: bool
    ends_s: float


class Losses:
    """Limits (D,) that losses leave now; infinite where none is in force. Times are monotonic seconds."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.planned = _planned(fleet)
        self.standing = [True] * len(self.planned)  # untold is the worse state
        self.words: list[dict[str, Word]] = [{} for _ in self.planned]  # by meter
        self.batteries: list[dict[str, Battery]] = [{} for _ in self.planned]
        self.hard_w: Floats = np.full(len(fleet.domains), np.inf)
        self.target_w: Floats = np.full(len(fleet.domains), np.inf)
        self._names: dict[int, tuple[str, ...]] = {}
        self._now_s = -np.inf  # the latest that was told: a reading that comes late clears nothing in between
        self._lapses_s = np.inf  # when a word ends that clears a loss
        self._sum_up()

    def heard(self, reading: MeterReading, now_s: float) -> None:
        """What a reading that was made at `now_s` tells of the losses that hang on its domain."""
        self._now_s = max(self._now_s, now_s)
        row = self.fleet.domain_index.get(reading.domain)
        trusted = reading.quality == "good" and reading.gated
        moved = False
        for at, one in enumerate(self.planned):
            if one.told_by != row or (lost := self._lost(at, reading)) is None:
                continue
            if lost or trusted:
                ends_s = now_s + STALE_PERIODS * min(max(reading.period_s, 0.0), LONGEST_PERIOD_S)
                self.words[at][reading.meter] = Word(lost, ends_s)
                if not lost:
                    self._lapses_s = min(self._lapses_s, ends_s)
                moved |= self._judge(at)
                battery = self.batteries[at].setdefault(reading.meter, Battery(one.loss.runtime_s))
                moved |= battery.heard(lost, reading.battery_pct, now_s)
        if moved:
            self._sum_up()

    def pass_to(self, now_s: float) -> None:
        """Time passes: a meter that has been silent for three of its periods clears nothing any more."""
        self._now_s = max(self._now_s, now_s)
        if now_s <= self._lapses_s:
            return
        ends_s = [word.ends_s for said in self.words for word in said.values() if not word.lost]
        self._lapses_s = min((at_s for at_s in ends_s if at_s >= now_s), default=np.inf)
        moved = False
        for at in range(len(self.planned)):
            moved |= self._judge(at)
        if moved:
            self._sum_up()

    def _judge(self, at: int) -> bool:
        """Judge one loss by all that its meters said; whether that changes anything."""
        words = self.words[at].values()
        stands = any(word.lost for word in words) or not any(self._now_s <= word.ends_s for word in words)
        moved = stands != self.standing[at]
        self.standing[at] = stands
        return moved

    @property
    def dark(self) -> frozenset[str]:
        """Feeds that meters tell to be without mains: what they carried is drawn from the others."""
        return frozenset(
            self.fleet.domains[one.told_by]
            for one, said in zip(self.planned, self.words, strict=True)
            if one.loss.when == "feed_lost" and any(word.lost for word in said.values())
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
            for one, stands, batteries in zip(self.planned, self.standing, self.batteries, strict=True)
            for battery in batteries.values()
            if stands and one.domain == domain and battery.left_s is not None
        ]
        return min(left, default=None)

    def carried(self, fleet: Fleet) -> "Losses":
        """The same knowledge on another fleet; a loss that was not planned before is untold.

        What a meter said that belongs to the domain no more goes with it.
        """
        new = Losses(fleet)
        known = {(self.fleet.domains[one.domain], one.loss): at for at, one in enumerate(self.planned)}
        for at, one in enumerate(new.planned):
            before = known.get((fleet.domains[one.domain], one.loss))
            if before is None:
                continue
            there = fleet.domain_records[one.told_by].meters
            new.words[at] = {meter: word for meter, word in self.words[before].items() if meter in there}
            new.batteries[at] = {
                meter: battery for meter, battery in self.batteries[before].items() if meter in there
            }
            new.standing[at] = self.standing[before]  # judged anew as soon as time passes
        new._now_s, new._lapses_s = self._now_s, -np.inf
        new._sum_up()
        return new

    def _lost(self, at: int, reading: MeterReading) -> bool | None:
        """Whether the loss is there by this reading; None: it says nothing of it."""
        one = self.planned[at]
        if one.loss.when == "on_battery":
            return reading.on_battery
        if one.loss.when == "feed_lost":
            nominal_v = self.fleet.domain_records[one.told_by].voltage_v
            least_v = DEAD_V if nominal_v is None else DEAD_SHARE * nominal_v
            return None if reading.voltage_v is None else reading.voltage_v < least_v
        if reading.temperature_c is None or one.loss.above_c is None:
            return None
        before = self.words[at].get(reading.meter)
        hot = before is None or before.lost
        return reading.temperature_c >= one.loss.above_c - (COOL_AGAIN_C if hot else 0.0)

    def _sum_up(self) -> None:
        self.hard_w = np.full(len(self.fleet.domains), np.inf)
        self.target_w = np.full(len(self.fleet.domains), np.inf)
        self._names = {}
        for one, stands, batteries in zip(self.planned, self.standing, self.batteries, strict=True):
            if not stands:
                continue
            affords = min((battery.share for battery in batteries.values()), default=1.0)
            self._names[one.domain] = (*self._names.get(one.domain, ()), one.loss.name)
            record = self.fleet.domain_records[one.domain]
            share = record.aim_w / record.hard_w if record.hard_w > 0 else 1.0
            aim_w = share * one.loss.hard_limit_w if one.loss.target_w is None else one.loss.target_w
            self.hard_w[one.domain] = min(self.hard_w[one.domain], one.loss.hard_limit_w)
            self.target_w[one.domain] = min(self.target_w[one.domain], aim_w * affords)


def _planned(fleet: Fleet) -> list[Planned]:
    """Losses with a meter to tell of them; without one they are planned for, and never in force."""
    found = []
    for row, record in enumerate(fleet.domain_records):
        for loss in record.contingencies:
            told_by = row if loss.feed is None else fleet.domain_index.get(loss.feed)
            if loss.when is not None and told_by is not None and fleet.domain_records[told_by].meters:
                found.append(Planned(row, told_by, loss))
    return found
