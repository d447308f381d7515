"""What the fullest phase of a domain leaves of its watts, where meters tell amps.

Watts say nothing of how phases share them, nor of the power factor. From a meter that tells both, the watts that go
with one ampere of the fullest phase are learned; `limit_a` times that is what the domain may draw as it is loaded
now. It bounds the target; the hard limit stands on what the rules declare.
"""

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from easyrider.messages import MeterReading
from easyrider_policy.core.fleet import Fleet
from easyrider_policy.core.unmanaged import LONGEST_PERIOD_S, STALE_PERIODS

Floats = NDArray[np.float64]

LEAST_SHARE: Final = 0.2
"""Of `limit_a`: below it a reading says little of how phases share a load."""
PER_READING: Final = 0.2
GRAIN: Final = 0.01
"""Ceilings move in steps of this share, so that a meter's noise moves no limits."""
DAY_S: Final = 86400.0
"""How unevenly phases are loaded changes with what hangs on them. What a meter taught that has said nothing for a day
is as if it had never spoken, as its watts are; before that, silence gives nothing back."""


class Taught(NamedTuple):
    """What one meter of a domain said: amps of its fullest phase, and the watts that go with one, NaN not known."""

    amps: float
    per_amp_w: float
    stale_s: float  # from when on its amps are no longer those of now
    ends_s: float


class Phases:
    """`ceiling_w` (D,): watts at which the fullest phase reaches the target's share of its amps; inf: not known.

    Of several meters of a domain the one with the fewest watts an ampere counts: they may see different circuits of
    it, and a mean of two would be true of neither.
    """

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.ceiling_w: Floats = np.full(len(fleet.domains), np.inf)
        self.amps: Floats = np.full(len(fleet.domains), np.nan)  # of the fullest phase, of meters that speak
        self._taught: dict[int, dict[str, Taught]] = {}  # by domain and meter
        self._lapses_s = np.inf

    def heard(self, domain: int, reading: MeterReading, now_s: float) -> None:
        """One reading; only one of good quality counts, and only from a gated meter does it justify more."""
        amps = fullest_a(reading)
        if amps is None or reading.quality != "good":
            return
        meters = self._taught.setdefault(domain, {})
        before = meters.get(reading.meter)
        known = math.nan if before is None else before.per_amp_w
        limit_a, power_w = self.fleet.domain_records[domain].limit_a, reading.power_w
        if limit_a is not None and power_w is not None and power_w > 0 and amps >= LEAST_SHARE * limit_a:
            seen = power_w / amps
            if math.isnan(known):
                known = seen
            elif seen < known or reading.gated:
                known += PER_READING * (seen - known)
        stale_s = now_s + STALE_PERIODS * min(max(reading.period_s, 0.0), LONGEST_PERIOD_S)
        meters[reading.meter] = Taught(amps, known, stale_s, now_s + DAY_S)
        self._lapses_s = min(self._lapses_s, stale_s)
        self._judge(domain, now_s)

    def pass_to(self, now_s: float) -> None:
        """Time passes: amps are those of now for three periods of their meter, what they taught holds for a day."""
        if now_s <= self._lapses_s:
            return
        for domain in self._taught:
            self._taught[domain] = {m: t for m, t in self._taught[domain].items() if now_s <= t.ends_s}
            self._judge(domain, now_s)
        ends_s = (at_s for meters in self._taught.values() for t in meters.values() for at_s in t[2:])
        self._lapses_s = min((at_s for at_s in ends_s if at_s >= now_s), default=np.inf)

    def _judge(self, domain: int, now_s: float) -> None:
        taught = self._taught[domain].values()
        self.amps[domain] = max((t.amps for t in taught if now_s <= t.stale_s), default=math.nan)
        per_amp_w = min((t.per_amp_w for t in taught if not math.isnan(t.per_amp_w)), default=math.inf)
        record = self.fleet.domain_records[domain]
        if math.isinf(per_amp_w) or record.limit_a is None:
            self.ceiling_w[domain] = math.inf
            return
        share = record.aim_w / record.carries_w if record.carries_w > 0 else record.target_share
        step_w = GRAIN * record.carries_w
        carried_w = record.limit_a * per_amp_w
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
            if before in self._taught:
                new._taught[row] = dict(self._taught[before])
        new._lapses_s = -np.inf
        return new


def fullest_a(reading: MeterReading) -> float | None:
    """Amps of the fullest phase; of the whole circuit where the meter tells no phases. None: it tells none."""
    if reading.phases_a:
        told = [amps for amps in reading.phases_a if amps >= 0]
        return max(told) if told else None
    return reading.current_a if reading.current_a is not None and reading.current_a >= 0 else None
