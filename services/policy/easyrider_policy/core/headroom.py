"""Limits of jobs that nothing binds: a little above their peak, out of hard limits and never out of targets."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.problem import Problem
from easyrider_policy.core.weights import least_of_domains, on_domains

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SHARE: Final = 1.06
MORE_W: Final = 12.0
UNBOUND_SHARE: Final = 0.999


def unbound(problem: Problem, watts: Floats) -> Bools:
    """Jobs (J,) whose watts reach their natural draw."""
    return watts >= UNBOUND_SHARE * problem.top_w


def with_headroom(problem: Problem, watts: Floats, most_w: Floats, fixed: Bools) -> Floats:
    """Limits (J,) per board for these draws; `most_w` is the device maximum, `fixed` jobs get none."""
    free = unbound(problem, watts) & ~fixed
    more_w = np.where(free, np.minimum(SHARE * watts + MORE_W, most_w) - watts, 0.0)
    more_w = np.maximum(more_w, 0.0)
    wish_w = on_domains(problem.layout, problem.loads.worst, more_w)
    room_w = np.maximum(problem.hard_w - problem.held_w(watts), 0.0)
    part = np.where(wish_w > room_w, room_w / np.where(wish_w > room_w, wish_w, 1.0), 1.0)
    return watts + more_w * least_of_domains(problem.layout, part)
