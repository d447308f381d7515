"""What the supply devices still carry: limits shrink with supply modules that do not work, and with planned losses.

A device that has not told anything yet counts as its smallest planned limit says. Modules of one that stops telling
keep their last known state; a planned loss that no meter clears any more is in force again. A better state is
believed only from a good reading of a meter that passed its gate; a worse one is believed at once.
"""

from typing import NamedTuple

import numpy as np

from easyrider.messages import MeterReading
from easyrider.tree import Domain
from easyrider_policy.core.fleet import Fleet, Floats
from easyrider_policy.core.losses import Losses
from easyrider_policy.core.phases import Phases


class LimitMove(NamedTuple):
    """A domain's limits moved to another share of what they were planned at."""

    domain: int
    before: float
    after: float


class Facility:
    """Share of its planned limits that each domain has now by its supply modules, (D,) in 0..1, and losses besides."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.share: Floats = np.array([_unknown(d) for d in fleet.domain_records], dtype=np.float64)
        self.losses = Losses(fleet)
        self.phases = Phases(fleet)
        self._carries_w: Floats = np.array([d.carries_w for d in fleet.domain_records], dtype=np.float64)
        self._devices: dict[tuple[int, str], float] = {}

    @property
    def hard_w(self) -> Floats:
        """Hard limits (D,) that the supplies leave."""
        return np.minimum(self.fleet.hard_w * self.share, self.losses.hard_w)

    @property
    def target_w(self) -> Floats:
        """Targets (D,) that the supplies leave, by watts and by the amps of the fullest phase."""
        by_watts_w = np.minimum(self.fleet.aim_w * self.share, self.losses.target_w)
        return np.minimum(by_watts_w, self.phases.ceiling_w)

    @property
    def capacity_w(self) -> Floats:
        """What each protective device carries for ever now (D,): the 1 of its curve's multiples."""
        return np.minimum(self._carries_w * self.share, self.losses.hard_w)

    def heard(self, reading: MeterReading, now_s: float = 0.0) -> tuple[LimitMove, ...]:
        """The moves of limits that a reading tells of: of its own domain, and of those that lose it as a feed."""
        domain = self.fleet.domain_index.get(reading.domain)
        if domain is None:
            return ()
        before = self.hard_w
        self.phases.heard(domain, reading, now_s)
        self.losses.heard(reading, now_s)
        self._modules(domain, reading)
        return self._moves(before)

    def pass_to(self, now_s: float) -> tuple[LimitMove, ...]:
        """The moves of limits that hang on what meters said too long ago."""
        before = self.losses.hard_w
        self.phases.pass_to(now_s)
        self.losses.pass_to(now_s)
        if self.losses.hard_w is before:
            return ()
        return self._moves(np.minimum(self.fleet.hard_w * self.share, before))

    def _moves(self, before: Floats) -> tuple[LimitMove, ...]:
        after, planned = self.hard_w, self.fleet.hard_w
        return tuple(
            LimitMove(row, float(before[row] / planned[row]), float(after[row] / planned[row]))
            for row in np.flatnonzero(after != before).tolist()
        )

    def _modules(self, domain: int, reading: MeterReading) -> None:
        if (share := self._told(domain, reading)) is None:
            return
        key = (domain, reading.meter)
        trusted = reading.quality == "good" and reading.gated
        known = self._devices.get(key, float(self.share[domain]))
        if share > known and not trusted:
            return
        self._devices[key] = share
        self.share[domain] = min(s for (d, _), s in self._devices.items() if d == domain)

    def carried(self, fleet: Fleet) -> "Facility":
        """The same knowledge on another fleet."""
        new = Facility(fleet)
        new.losses, new.phases = self.losses.carried(fleet), self.phases.carried(fleet)
        for (domain, meter), share in self._devices.items():
            row = fleet.domain_index.get(self.fleet.domains[domain])
            if row is not None:
                new._devices[row, meter] = share
        for row in {row for row, _ in new._devices}:
            new.share[row] = min(s for (d, _), s in new._devices.items() if d == row)
        return new

    def _told(self, domain: int, reading: MeterReading) -> float | None:
        if reading.modules_ok is None or reading.modules_total is None:
            return None
        # A module that was pulled out is missing from the total too: the rules say how many the limits rest on.
        planned = self.fleet.domain_records[domain].supply_modules or 0
        total = max(reading.modules_total, planned)
        return min(1.0, max(0.0, reading.modules_ok / total)) if total > 0 else None


def _unknown(domain: Domain) -> float:
    """Share of a supply nobody has told of yet: a coordinator that starts anew may have missed a loss."""
    if not domain.supply_modules or domain.hard_w <= 0:
        return 1.0
    # Losses that meters tell of count apart.
    smallest_w = min([domain.hard_w, *(c.hard_limit_w for c in domain.contingencies if c.when is None)])
    return smallest_w / domain.hard_w
