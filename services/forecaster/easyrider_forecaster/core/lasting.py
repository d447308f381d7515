"""Windows that the present dip will outlast for sure: it is a pause of a known kind, and none of those was so short.

While a job writes a checkpoint the power it leaves is free for others, if it is known for how long.
"""

import numpy as np

from easyrider_forecaster.core.arrays import HORIZONS_S, Array
from easyrider_forecaster.core.dips import LONG_S, Dips
from easyrider_forecaster.core.pulse import Pulse

KNOWN = 3
"""Longer dips of one kind that must be remembered before their length is believed."""
ALIKE = 1.3
"""The longest of a kind may last so many times the shortest."""
GUARD = 0.9
"""Share of the shortest that counts."""


def through(dips: Dips, pulse: Pulse) -> Array:
    """Which horizons end within the present dip if it is like those before it, (rows, horizons).

    Only long dips that outlasted its present age are compared. One that breaks the rule is remembered as the
    shortest, or as unlike, and nothing of that age is sure until it is forgotten.
    """
    sure = np.zeros((dips.rows, len(HORIZONS_S)), np.bool_)
    rows = np.flatnonzero(pulse.in_dip & (pulse.dip_age > 10 * LONG_S))
    if not len(rows):
        return sure
    age_s, lengths_s = pulse.dip_age[rows] / 10.0, dips.long_lengths_s[rows]
    with np.errstate(invalid="ignore"):
        alive = lengths_s > age_s[:, None]
    shortest_s = np.where(alive, lengths_s, np.inf).min(axis=1)
    longest_s = np.where(alive, lengths_s, 0.0).max(axis=1)
    kind = (alive.sum(axis=1) >= KNOWN) & (longest_s <= ALIKE * shortest_s)
    left_s = np.where(kind, GUARD * np.minimum(shortest_s, 1e6) - age_s, 0.0)
    sure[rows] = left_s[:, None] >= np.asarray(HORIZONS_S)
    return sure
