"""What giving boards back would lack, before anybody is asked: the sums with every other board of ours at its least."""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from easyrider_policy.core.fleet import Bools, Fleet, Floats

NOBODY: Mapping[int, tuple[float, float]] = MappingProxyType({})


def lacking_w(
    fleet: Fleet,
    counted_w: Floats,
    overshoot: Floats,
    leaving_w: Floats,
    lowerable: Bools,
    room_w: Floats,
    shares: Mapping[int, tuple[float, float]] = NOBODY,
) -> dict[str, float]:
    """Wall watts that each domain would lack; empty where the sums allow it, NaN where its room is unknown.

    `counted_w` (G,): what each board counts now; `overshoot` (G,): draw per limit; `leaving_w` (G,): baselines of
    boards that are to leave, NaN for all others; `lowerable` (G,): boards that limits of ours can lower; `room_w`
    (D,): room of the domains now; `shares`: of domains by row that a region has, what it is guaranteed and what is
    counted there now, for it keeps the first, however low its boards go.
    """
    leaves = np.isfinite(leaving_w)
    more_w = np.where(leaves, np.maximum(0.0, np.nan_to_num(leaving_w, nan=0.0) * overshoot - counted_w), 0.0)
    # A board that is lowered as far as it goes still counts its fallback.
    least_w = np.clip(fleet.fallback_w[fleet.gpu_node], fleet.min_w, fleet.max_w) * overshoot
    less_w = np.where(lowerable & ~leaves, np.maximum(0.0, counted_w - least_w), 0.0)
    needs_w = fleet.slope_w(more_w)
    gives_w = fleet.slope_w(less_w)
    kept_w = np.zeros(len(fleet.domains))
    for row, (guaranteed_w, used_w) in shares.items():
        unit = np.zeros(len(fleet.domains))
        unit[row] = np.maximum(0.0, guaranteed_w - (used_w + needs_w[row] - gives_w[row]))
        kept_w += fleet.weights.worst_above(unit) - unit
    short_w = needs_w + kept_w - room_w - gives_w
    found = np.flatnonzero((needs_w > 1e-6) & ~(short_w <= 1e-6))
    return {fleet.domains[row]: float(short_w[row]) for row in found.tolist()}
