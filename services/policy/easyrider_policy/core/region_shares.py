"""Who gets how much: watts of nested domains shared over claims, each with a concave curve of worth.

On a tree of budgets and piecewise-linear concave curves it is best to hand out watts step by step to whoever gets
most from the next one, and to pass over a claim once a domain above it is full; below two feeds it is feasible, and
good. The steps themselves, summed, are the curve of the whole scope, which its own parent is told.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from easyrider_policy.core.fleet import Floats

POINTS = 16
MOST_POINTS = 64
FILLS = 8
DEAR = 1e6
"""Worth of a watt below a curve's first point: what a scope needs before any of its jobs yields further."""
FINE_W = 1e-6


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Claim:
    """Wants watts somewhere. `carried` (D,): what each domain carries of one; `floor_w`: has it in any case."""

    floor_w: float
    most_w: float
    curve_w: Floats  # (K,) rising, from where no job yields further to where more has no worth
    curve_value: Floats  # (K,) weighted boards' worth of speed
    carried: Floats


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Shares:
    """`watts` (claims,); `path_w`, `path_value`: cumulated over the steps; `short_w` (D,): floors above budgets."""

    watts: Floats
    path_w: Floats
    path_value: Floats
    short_w: Floats


def share(claims: Sequence[Claim], budget_w: Floats) -> Shares:
    """Watts by worth, each claim between its floor and the end of its curve, within every budget (D,)."""
    floor_w = np.array([claim.floor_w for claim in claims])
    above_w = budget_w - _carried(claims, floor_w)
    short_w = np.maximum(0.0, -above_w)
    # Plain numbers from here on: a claim has a handful of domains above it, and steps come one by one.
    watts: list[float] = floor_w.tolist()
    left_w: list[float] = above_w.tolist()
    bounds = [_bounds(claim) for claim in claims]
    path_w, path_value = [0.0], [0.0]
    steps = [list(_steps(claim)) for claim in claims]
    heap = [(-steps[k][0][1], k, 0) for k in range(len(claims)) if steps[k]]
    heapq.heapify(heap)
    while heap:
        _, k, at = heapq.heappop(heap)
        width_w, worth = steps[k][at]
        room_w = min((left_w[row] / part for row, part in bounds[k]), default=np.inf)
        taken_w = min(width_w, max(0.0, room_w))
        if taken_w > FINE_W:
            watts[k] += taken_w
            for row, part in bounds[k]:
                left_w[row] -= part * taken_w
            path_w.append(path_w[-1] + taken_w)
            path_value.append(path_value[-1] + taken_w * min(worth, DEAR))
        if taken_w >= width_w - FINE_W and at + 1 < len(steps[k]):
            heapq.heappush(heap, (-steps[k][at + 1][1], k, at + 1))
    return Shares(
        watts=np.array(watts), path_w=np.array(path_w), path_value=np.array(path_value), short_w=short_w
    )


def filled(claims: Sequence[Claim], watts: Floats, budget_w: Floats) -> Floats:
    """What is left over handed out too, in proportion to what each may still take: a start must not wait for it."""
    held_w = watts.copy()
    most_w = np.array([claim.most_w for claim in claims])
    for _ in range(FILLS):
        wish_w = np.maximum(0.0, most_w - held_w)
        left_w, wished_w = budget_w - _carried(claims, held_w), _carried(claims, wish_w)
        part = np.where(wished_w > FINE_W, np.maximum(0.0, left_w) / np.maximum(wished_w, FINE_W), np.inf)
        for k, claim in enumerate(claims):
            bound = claim.carried > 0
            least = float(part[bound].min()) if bound.any() else 1.0
            held_w[k] += wish_w[k] * min(1.0, least)
    return held_w


def concave(watts: Floats, value: Floats) -> tuple[Floats, Floats]:
    """The points of the upper hull: chords between them lie on or below what is truly gained."""
    kept: list[tuple[float, float]] = []
    for point in sorted(zip(watts.tolist(), value.tolist(), strict=True)):
        if kept and point[0] - kept[-1][0] <= FINE_W:
            point = (kept[-1][0], max(kept.pop()[1], point[1]))
        while len(kept) > 1 and _slope(kept[-2], kept[-1]) <= _slope(kept[-1], point):
            kept.pop()
        kept.append(point)
    return np.array([w for w, _ in kept]), np.array([v for _, v in kept])


def thinned(watts: Floats, value: Floats) -> tuple[Floats, Floats]:
    """At most sixteen points of a curve, uniform in watts: their placement hardly matters."""
    if len(watts) <= POINTS:
        return watts, value
    at_w = np.linspace(watts[0], watts[-1], POINTS)
    return at_w, np.interp(at_w, watts, value)


def _steps(claim: Claim) -> list[tuple[float, float]]:
    """(watts, worth of each) from the floor on; the slopes fall."""
    found = []
    watts, value = claim.curve_w, claim.curve_value
    if not len(watts):
        return []
    if watts[0] > claim.floor_w + FINE_W:
        found.append((float(watts[0]) - claim.floor_w, DEAR))
    for k in range(1, len(watts)):
        begin_w = max(float(watts[k - 1]), claim.floor_w)
        if (width_w := float(watts[k]) - begin_w) > FINE_W:
            rise = float(value[k] - value[k - 1]) / float(watts[k] - watts[k - 1])
            found.append((width_w, max(0.0, rise)))
    return found


def _bounds(claim: Claim) -> list[tuple[int, float]]:
    rows = np.flatnonzero(claim.carried > 0)
    return list(zip(rows.tolist(), claim.carried[rows].tolist(), strict=True))


def _carried(claims: Sequence[Claim], watts: Floats) -> Floats:
    total: Floats = sum(
        (claim.carried * w for claim, w in zip(claims, watts.tolist(), strict=True)), np.zeros(1)
    )
    return total


def _slope(low: tuple[float, float], high: tuple[float, float]) -> float:
    return (high[1] - low[1]) / (high[0] - low[0])
