"""How low a pilot may be pushed for load that is not ours: not below what the rules name, where the sums prove nothing.

In an open domain boards that nobody limits may take all there is; pilots answer at most for the excess that they can
remove above their floor. A closed domain's limit is kept whatever a pilot wants.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.layout import Layout
from easyrider_policy.core.tally import tally

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, slots=True)
class PilotFloors:
    """`watts` (J,) per board, 0 where there is none; `closed` (D,): domains that know no such floor."""

    watts: Floats
    closed: Bools

    def is_as(self, other: "PilotFloors | None") -> bool:
        """Whether the other says the very same."""
        if other is None:
            return False
        return bool(np.array_equal(self.watts, other.watts) and np.array_equal(self.closed, other.closed))


def pilot_floors(layout: Layout, floor_w: float | None, closed: Bools | None) -> PilotFloors | None:
    """The floors of pilots below an open domain; None where no job has one."""
    if floor_w is None or closed is None or closed.all() or not layout.pilot.any():
        return None
    open_above = (
        tally(layout.pair_job, (~closed[layout.pair_domain]).astype(np.float64), layout.job_count) > 0
    )
    has = layout.pilot & open_above
    if not has.any():
        return None
    return PilotFloors(np.where(has, np.clip(floor_w, layout.min_w, layout.max_w), 0.0), closed)
