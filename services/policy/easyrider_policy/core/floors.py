"""How low each job may go before others must yield, and who yields first when that is not enough.

`max_slowdown` is soft: it yields to a limit in ascending priority, the more flexible first among equals,
pilots last, and only as far as needed; the device minimum is the end. A domain whose jobs do not fit even
there is infeasible, and is told by how many watts.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core import curves
from easyrider_policy.core.layout import Layout
from easyrider_policy.core.pilots import PilotFloors
from easyrider_policy.core.problem import SLACK_W, Problem
from easyrider_policy.core.weights import least_of_domains, on_domains

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

PILOT_SHARE = 0.90


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Floors:
    """`watts` (J,) per board that fit every budget that can be met; `yielded` (J,); `missing_w` (D,) wall."""

    watts: Floats
    yielded: Bools
    missing_w: Floats


def soft_floors(layout: Layout, peak_w: Floats, busy: Ints) -> Floats:
    """The watts (J,) at which jobs run at 1 - `max_slowdown`; pilots no lower than 10 % below their peak."""
    share = curves.least_share(1.0 - layout.max_slowdown, busy)
    share = np.where(layout.pilot, np.maximum(share, PILOT_SHARE), share)
    return np.maximum(peak_w * share, layout.min_w)


def fitted(
    problem: Problem, least_w: Floats, held_back_w: Floats, pilots: PilotFloors | None = None
) -> Floors:
    """Floors of `problem` lowered towards `least_w` (J,), device minimums, until they fit.

    `held_back_w` (D,): what margins and penalties took off the targets; nobody is infeasible for their sake.
    `pilots`: floors below which pilots go for closed domains alone.
    """
    layout, deepest_w = problem.layout, least_w
    if pilots is not None:
        least_w = np.maximum(least_w, np.minimum(pilots.watts, problem.top_w))
    floor_w = np.maximum(problem.floor_w, least_w)
    short_w = problem.drawn_w(least_w) - problem.target_w - held_back_w
    missing_w = np.maximum(0.0, np.maximum(short_w, problem.held_w(least_w) - problem.hard_w))
    # What cannot be met even at minimum is not asked of others in vain: minimum there, and the rest as usual.
    for group in layout.yield_order:
        excess_w = _excess(problem, floor_w)
        if not (excess_w > SLACK_W).any():
            break
        spare_w = np.zeros(layout.job_count)
        spare_w[group] = floor_w[group] - least_w[group]
        part = _part(problem, excess_w, spare_w)
        floor_w = floor_w - spare_w * part
    if pilots is not None:
        floor_w, missing_w = _for_closed(problem, floor_w, (deepest_w, held_back_w, missing_w), pilots.closed)
    yielded = floor_w < np.maximum(problem.floor_w, least_w) - 1e-3
    return Floors(watts=floor_w, yielded=yielded, missing_w=np.where(missing_w > SLACK_W, missing_w, 0.0))


def _for_closed(
    problem: Problem, floor_w: Floats, least: tuple[Floats, Floats, Floats], closed: Bools
) -> tuple[Floats, Floats]:
    """Floors (J,) lowered further where a closed domain asks for it, and what is missing (D,) with that."""
    deepest_w, held_back_w, missing_w = least
    excess_w = np.where(closed, _excess(problem, floor_w), 0.0)
    if (excess_w > SLACK_W).any():
        spare_w = np.maximum(0.0, floor_w - deepest_w)
        floor_w = floor_w - spare_w * _part(problem, excess_w, spare_w)
    short_w = problem.drawn_w(deepest_w) - problem.target_w - held_back_w
    deepest_missing_w = np.maximum(0.0, np.maximum(short_w, problem.held_w(deepest_w) - problem.hard_w))
    return floor_w, np.where(closed, deepest_missing_w, missing_w)


def _excess(problem: Problem, watts: Floats) -> Floats:
    drawn = problem.drawn_w(watts) - problem.target_w
    return np.maximum(drawn, problem.held_w(watts) - problem.hard_w)


def _part(problem: Problem, excess_w: Floats, spare_w: Floats) -> Floats:
    """Part (0-1) of each job's spare that its worst domain asks for."""
    drawn = problem.drawn_w(spare_w)
    held = on_domains(problem.layout, problem.loads.worst, spare_w)
    give = np.minimum(np.where(drawn > 0, drawn, np.inf), np.where(held > 0, held, np.inf))
    asked = np.where(excess_w > SLACK_W, np.minimum(1.0, excess_w / give), 0.0)
    asked = np.where(np.isfinite(give), asked, 0.0)
    return -least_of_domains(problem.layout, -asked)
