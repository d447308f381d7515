"""From nearly right watts to exactly feasible ones, with nothing left over that somebody could use."""

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.problem import Problem
from easyrider_policy.core.weights import least_of_domains, on_domains

Floats = NDArray[np.float64]
FILLS = 3


def repaired(problem: Problem, per_board_w: Floats, fills: int = FILLS) -> Floats:
    """The same watts, within every budget: what is above the floors shrinks, then free room is handed out.

    Floors themselves must fit. Exact up to a billionth of the budget.
    """
    floor_w = problem.floor_w
    # Where everybody at the top fits the hard limits, they need no looking at.
    hard = bool((problem.held_w(problem.top_w) > problem.hard_w).any())
    above_w = np.clip(per_board_w, floor_w, problem.top_w) - floor_w
    held_w = floor_w + above_w * _share(problem, floor_w, above_w, hard)
    for _ in range(fills):
        wish_w = problem.top_w - held_w
        if not (wish_w > 1e-6).any():
            break
        held_w = held_w + wish_w * _share(problem, held_w, wish_w, hard)
    return held_w


def _share(problem: Problem, base_w: Floats, more_w: Floats, hard: bool) -> Floats:
    """Part (0-1) of `more_w` of each job that fits on top of `base_w` in every one of its domains."""
    drawn = _fitting(problem.target_w - problem.drawn_w(base_w), problem.drawn_w(more_w))
    if not hard:
        return least_of_domains(problem.layout, drawn)
    held_more_w = on_domains(problem.layout, problem.loads.worst, more_w)
    held = _fitting(problem.hard_w - problem.held_w(base_w), held_more_w)
    return least_of_domains(problem.layout, np.minimum(drawn, held))


def _fitting(room_w: Floats, wish_w: Floats) -> Floats:
    room_w = np.maximum(room_w, 0.0)
    return np.where(wish_w > room_w, room_w / np.where(wish_w > room_w, wish_w, 1.0), 1.0)
