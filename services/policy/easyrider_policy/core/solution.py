"""One sharing of watts: the question, the floors that fit, the allocation, and limits with headroom."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.allocate import Allocation
from easyrider_policy.core.floors import Floors
from easyrider_policy.core.problem import Problem

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Solution:
    """(J,) arrays hold watts per board. `ours` (J,): jobs with a board that is steered."""

    asked: Problem  # as it was put
    problem: Problem  # with floors that fit
    floors: Floors
    allocation: Allocation
    limit_w: Floats
    stalled: Bools
    ours: Bools
