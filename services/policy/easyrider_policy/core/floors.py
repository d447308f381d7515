"""How low each job may go before others must yield, and who yields first when that is not enough.

Jobs of tier 0 keep their natural draw while others can be slowed within their bounds. Then they yield too, down
to `max_slowdown`; then `max_slowdown` yields, down to the least speed of latency-critical jobs; then all go to the
device minimum, which is the end. Each step in ascending priority, the more flexible first among equals, those that
use their boards least before all and pilots last, and only as far as needed. A domain whose jobs do not fit even
at minimum is infeasible, and is told by how many watts.
"""

from collections.abc import Iterator
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
LOW_USE = curves.BUSY_CLASSES // 2
"""Jobs of a lower busy class compute for less than half of their time."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Floors:
    """`watts` (J,) per board that fit every budget that can be met; `yielded` (J,); `missing_w` (D,) wall."""

    watts: Floats
    yielded: Bools
    missing_w: Floats


def soft_floors(layout: Layout, peak_w: Floats, busy: Ints) -> Floats:
    """The watts (J,) at which jobs run at 1 - `max_slowdown`; pilots no lower than 10 % below their peak."""
    share = curves.least_share(np.maximum(1.0 - layout.max_slowdown, layout.least_speed), busy)
    share = np.where(layout.pilot, np.maximum(share, PILOT_SHARE), share)
    return np.maximum(peak_w * share, layout.min_w)


def kept_floors(layout: Layout, peak_w: Floats, busy: Ints) -> tuple[Floats, Floats]:
    """The watts (J,) that jobs keep as long as others can yield, and those that only the last step takes."""
    soft_w = soft_floors(layout, peak_w, busy)
    critical = layout.least_speed > 0
    least_w = np.where(critical, peak_w * curves.least_share(layout.least_speed, busy), 0.0)
    return np.where(layout.untouched, np.maximum(peak_w, soft_w), soft_w), np.maximum(least_w, layout.min_w)


def fitted(
    problem: Problem,
    least_w: Floats,
    held_back_w: Floats,
    pilots: PilotFloors | None = None,
    steps: tuple[Floats, ...] = (),
) -> Floors:
    """Floors of `problem` lowered by `steps` (J,) and then towards `least_w` (J,), device minimums, until they fit.

    `held_back_w` (D,): what margins and penalties took off the targets; nobody is infeasible for their sake.
    `pilots`: floors below which pilots go for closed domains alone.
    """
    deepest_w = least_w
    if pilots is not None:
        least_w = np.maximum(least_w, np.minimum(pilots.watts, problem.top_w))
    floor_w = np.maximum(problem.floor_w, least_w)
    short_w = problem.drawn_w(least_w) - problem.target_w - held_back_w
    missing_w = np.maximum(0.0, np.maximum(short_w, problem.held_w(least_w) - problem.hard_w))
    # What cannot be met even at minimum is not asked of others in vain: minimum there, and the rest as usual.
    for step_w in (*steps, least_w):
        floor_w, fits = _yielded(problem, floor_w, np.maximum(step_w, least_w))
        if fits:
            break
    if pilots is not None:
        floor_w, missing_w = _for_closed(problem, floor_w, (deepest_w, held_back_w, missing_w), pilots.closed)
    yielded = floor_w < np.maximum(problem.floor_w, least_w) - 1e-3
    return Floors(watts=floor_w, yielded=yielded, missing_w=np.where(missing_w > SLACK_W, missing_w, 0.0))


def _yielded(problem: Problem, floor_w: Floats, step_w: Floats) -> tuple[Floats, bool]:
    """Floors (J,) lowered towards `step_w` one group after the other, and whether they fit."""
    for group in _order(problem):
        excess_w = _excess(problem, floor_w)
        if not (excess_w > SLACK_W).any():
            return floor_w, True
        spare_w = np.zeros(len(floor_w))
        spare_w[group] = np.maximum(0.0, floor_w[group] - step_w[group])
        floor_w = floor_w - spare_w * _part(problem, excess_w, spare_w)
    return floor_w, False


def _order(problem: Problem) -> Iterator[Ints]:
    layout = problem.layout
    idles = (problem.busy % curves.BUSY_CLASSES < LOW_USE) & ~layout.pilot
    for first in (True, False) if idles.any() else (False,):
        for group in layout.yield_order:
            rows = group[idles[group] == first]
            if rows.size:
                yield rows


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
