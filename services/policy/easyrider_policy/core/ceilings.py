"""Boards that something else holds below our limit: the whole job runs at that pace, and its watts are given away."""

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
    if not held.any():
        return None
    board_w = np.where(held, np.maximum(observation.limit_w, layout.fleet.min_w), np.inf)
    return np.asarray(np.minimum.reduceat(board_w[layout.seat], layout.job_start), dtype=np.float64)
