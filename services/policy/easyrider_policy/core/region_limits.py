"""How much of a hard limit may be lent where regions hang below: all of it, or what the worst planned loss leaves.

A region that cannot be reached when a limit drops goes on for its lease, one more for each level below it. Where the
breaker's curve does not carry the overload for that long, no more is lent than the smallest planned limit holds.
"""

from collections.abc import Sequence

import numpy as np

from easyrider.tree import Leases
from easyrider_policy.core import timing
from easyrider_policy.core.fleet import Bools, Fleet
from easyrider_policy.core.lending import Borrower


def short_of_time(fleet: Fleet, borrowers: Sequence[Borrower], leases: Leases, lease_s: float) -> Bools:
    """(D,) domains above regions in which the timing rule fails with the region lease counted in."""
    levels = np.zeros(len(fleet.domains), dtype=np.int64)
    for borrower in borrowers:
        unit = np.zeros(len(fleet.domains))
        unit[borrower.row] = 1.0
        above = fleet.weights.worst_above(unit) > 0
        levels[above] = np.maximum(levels[above], borrower.levels + 1)
    short = np.zeros(len(fleet.domains), dtype=np.bool_)
    for row in np.flatnonzero(levels).tolist():
        domain = fleet.domain_records[row]
        if not domain.contingencies:
            continue
        need_s = timing.need_s(leases) + int(levels[row]) * lease_s
        holds_s = timing.allowed_s(domain.trip_points, timing.worst_overload(domain, 0.0).multiple)
        short[row] = not domain.trip_points or need_s > timing.SHARE * holds_s
    return short
