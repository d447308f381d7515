"""What the supply devices still carry: limits shrink with supply modules that do not work.

A device that has not told anything yet counts as its smallest planned limit says. One that stops telling keeps its
last known state, and a better one is believed only from a good reading
of a meter that passed its gate; a worse one is believed at once.
"""

from typing import NamedTuple

import numpy as np

from easyrider.messages import MeterReading
from easyrider.tree import Domain
from easyrider_policy.core.fleet import Fleet, Floats


class LimitMove(NamedTuple):
    """A domain's limits moved to another share of what they were planned at."""

    domain: int
    before: float
    after: float


class Facility:
    """Share of its planned limits that each domain has now, (D,) in 0..1."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.share: Floats = np.array([_unknown(d) for d in fleet.domain_records], dtype=np.float64)
        self._devices: dict[tuple[int, str], float] = {}

    def heard(self, reading: MeterReading) -> LimitMove | None:
        """The move of a domain's limits that a reading tells of, if it does."""
        domain = self.fleet.domain_index.get(reading.domain)
        if domain is None or (share := self._told(domain, reading)) is None:
            return None
        key = (domain, reading.meter)
        trusted = reading.quality == "good" and reading.gated
        known = self._devices.get(key, float(self.share[domain]))
        if share > known and not trusted:
            return None
        self._devices[key] = share
        before = float(self.share[domain])
        after = min(s for (d, _), s in self._devices.items() if d == domain)
        self.share[domain] = after
        return LimitMove(domain, before, after) if after != before else None

    def carried(self, fleet: Fleet) -> "Facility":
        """The same knowledge on another fleet."""
        new = Facility(fleet)
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
    return domain.smallest_hard_w / domain.hard_w
