"""One sharing of watts: the question, the floors that fit, the allocation, limits with headroom, and why."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.allocate import Allocation
from easyrider_policy.core.floors import Floors
from easyrider_policy.core.problem import Problem
from easyrider_policy.core.question import Question

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Solution:
    """`limit_w` (J,) watts per board; `told` (J,) what binds each job."""

    question: Question
    problem: Problem  # with floors that fit
    floors: Floors
    allocation: Allocation
    limit_w: Floats
    told: tuple[str, ...]
