"""Boards that something else holds below our limit: the whole job runs at that pace, and its watts are given away.

A lower limit that is enforced (set out of band) and heat bound what a job can reach. What an unknown limiter holds
keeps the limit it has: it is given no more, and no less, since its draw may follow the limit down.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.layout import Layout
from easyrider_policy.core.observe import Observation
from easyrider_policy.core.situation import Situation

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

BELOW_W: Final = 5.0
AFTER_S: Final = 3.0
"""A limit of ours takes effect sooner; what is still lower then is not ours."""


def ceilings(observation: Observation, situation: Situation, changed_s: Floats, ours: Bools) -> Floats | None:
    """Watts per board (J,) that each job can reach, infinite where nothing holds it; None where nothing holds any."""
    layout: Layout = observation.layout
    with np.errstate(invalid="ignore"):
        held = observation.limit_w < situation.limit_w - BELOW_W
    held &= ours & (situation.now_s - changed_s >= AFTER_S) & (observation.still_s >= AFTER_S)
    limiters = observation.limiters
    hot = np.isfinite(limiters.heat_w) & ours
    if not (held.any() or hot.any()):
        return None
    board_w = np.where(held, observation.limit_w, np.inf)
    board_w = np.minimum(board_w, np.where(hot, limiters.heat_w, np.inf))
    board_w = np.maximum(board_w, layout.fleet.min_w)
    return np.asarray(np.minimum.reduceat(board_w[layout.seat], layout.job_start), dtype=np.float64)


def kept_back(
    observation: Observation, ours: Bools, held: Bools, why: Sequence[str]
) -> tuple[Bools, Sequence[str]]:
    """(J,) jobs that may not rise, with those that an unknown limiter slows, and why each (empty: it may)."""
    other = observation.limiters.other & ours
    if not other.any():
        return held, why
    layout = observation.layout
    slowed = np.logical_or.reduceat(other[layout.seat], layout.job_start)
    reasons = [name or ("held" if slow else "") for name, slow in zip(why, slowed.tolist(), strict=True)]
    return held | slowed, reasons
