"""What the fullest phase of a domain leaves of its watts, where meters tell amps.

Watts say nothing of how phases share them, nor of the power factor. From a meter that tells both, the watts that go
with one ampere of the fullest phase are learned; `limit_a` times that is what the domain may draw as it is loaded
now. It bounds the target; the hard limit stands on what the rules declare.
"""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from easyrider.messages import MeterReading
from easyrider_policy.core.fleet import Fleet

Floats = NDArray[np.float64]

LEAST_SHARE: Final = 0.2
"""Of `limit_a`: below it a reading says little of how phases share a load."""
PER_READING: Final = 0.2
GRAIN: Final = 0.01
"""Ceilings move in steps of this share, so that a meter's noise moves no limits."""


class Phases:
    """`ceiling_w` (D,): watts at which the fullest phase reaches the target's share of its amps; inf: not known."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.ceiling_w: Floats = np.full(len(fleet.domains), np.inf)
        self.amps: Floats = np.full(len(fleet.domains), np.nan)  # of the fullest phase, newest
        self._per_amp_w: Floats = np.full(len(fleet.domains), np.nan)

    def heard(self, domain: int, reading: MeterReading) -> None:
        """One reading; only one of good quality counts, and only from a gated meter does it justify more."""
        record = self.fleet.domain_records[domain]
        amps = fullest_a(reading)
        if amps is None or reading.quality != "good":
            return
        self.amps[domain] = amps
        limit_a, power_w = record.limit_a, reading.power_w
        if limit_a is None or power_w is None or not power_w > 0 or amps < LEAST_SHARE * limit_a:
            return
        seen, known = power_w / amps, self._per_amp_w[domain]
        if np.isnan(known):
            self._per_amp_w[domain] = seen
        elif seen < known or reading.gated:
            self._per_amp_w[domain] = known + PER_READING * (seen - known)
        carried_w = limit_a * float(self._per_amp_w[domain])
        share = record.aim_w / record.carries_w if record.carries_w > 0 else record.target_share
        step_w = GRAIN * record.carries_w
        ceiling_w = max(step_w, math.floor(min(share, 1.0) * carried_w / step_w) * step_w)
        if abs(ceiling_w - self.ceiling_w[domain]) > 1.5 * step_w or math.isinf(self.ceiling_w[domain]):
            self.ceiling_w[domain] = ceiling_w

    def carried(self, fleet: Fleet) -> "Phases":
        """The same knowledge on another fleet."""
        new = Phases(fleet)
        for row, name in enumerate(fleet.domains):
            before = self.fleet.domain_index.get(name)
            if before is None or self.fleet.domain_records[before] != fleet.domain_records[row]:
                continue
            new.ceiling_w[row], new.amps[row] = self.ceiling_w[before], self.amps[before]
            new._per_amp_w[row] = self._per_amp_w[before]
        return new


def fullest_a(reading: MeterReading) -> float | None:
    """Amps of the fullest phase; of the whole circuit where the meter tells no phases. None: it tells none."""
    if reading.phases_a:
        told = [amps for amps in reading.phases_a if amps >= 0]
        return max(told) if told else None
    return reading.current_a if reading.current_a is not None and reading.current_a >= 0 else None
