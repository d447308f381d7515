"""What the planner is held against: an equal cap filled up each second, and an oracle that sees true draws.

Both stay within the limits that bind the planner: limits of all boards under every hard limit, draws under
every target in force.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from easyrider_twin import speed
from easyrider_twin.gpus import STEP_S
from easyrider_twin.history import History
from easyrider_twin.outcome import Outcome
from easyrider_twin.plant import Plant
from easyrider_twin.world import World

Floats = npt.NDArray[np.float64]
MARGIN = 0.97
"""Boards draw up to 3 % above a binding limit, each its own share."""
NEAR_LIMIT = 0.96
LOOSE = 1.10


class Sums:
    """Wall watts per domain (D,) of board watts (G,)."""

    def __init__(self, plant: Plant) -> None:
        world, places = plant.world, plant.layout
        parents = {d.id: d.parent for d in world.domains}
        rows = {d.id: row for row, d in enumerate(world.domains)}
        self.slope = np.zeros((len(rows), places.gpus))
        self.fixed_w = np.zeros(len(rows))
        for node in world.nodes:
            at: str | None = node.domain
            while at is not None:
                self.slope[rows[at], places.slices[node.id]] = node.overhead_slope
                self.fixed_w[rows[at]] += node.overhead_w
                at = parents[at]
        for domain in world.domains:
            at = domain.id
            while at is not None:
                self.fixed_w[rows[at]] += domain.fixed_w
                at = parents[at]

    def wall_w(self, board_w: Floats) -> Floats:
        """Draw or worst case of these board watts."""
        return np.asarray(self.fixed_w + self.slope @ board_w)


Choose = Callable[[Plant, Sums, Floats, Floats], Floats]
"""(plant, sums, hard_w, target_w) -> limits (G,)."""


def rival(world: World, seconds: float, choose: Choose, period_s: float) -> Outcome:
    """A run under `choose`, asked each `period_s`; its limits are enforced at once."""
    plant = Plant(world)
    sums, history = Sums(plant), History(plant, keep_s=1e6)
    every, limit_w = max(1, round(period_s / STEP_S)), plant.layout.min_limit_w.copy()
    plant.boards.settle(limit_w)
    plant.jobs.start()
    for step in range(round(seconds / STEP_S)):
        if step % every == 0:
            plant.jobs.show()
            wanted_w = choose(plant, sums, *plant.domains.limits_w())
            limit_w = np.clip(wanted_w, plant.layout.min_limit_w, plant.layout.max_limit_w)
        plant.step(limit_w)
        history.add()
    return history.outcome()


class EqualCap:
    """One cap for all boards that want more, as high as the limits allow; others keep a little above their draw."""

    def __init__(self) -> None:
        self._limit_w: Floats | None = None
        self._top_w: list[Floats] = []

    def __call__(self, plant: Plant, sums: Sums, hard_w: Floats, target_w: Floats) -> Floats:
        """Limits of the next second."""
        low_w, high_w = plant.layout.min_limit_w, plant.layout.max_limit_w
        if self._limit_w is None:
            self._limit_w = low_w
        draw_w = plant.power_w
        pinned = draw_w >= NEAR_LIMIT * self._limit_w
        self._top_w = [*self._top_w[-9:], np.where(pinned, high_w, draw_w * LOOSE)]
        want_w = np.clip(np.max(self._top_w, axis=0), low_w, high_w)
        cap_w = _highest(lambda cap: np.minimum(cap, want_w), sums, hard_w, MARGIN * target_w)
        self._limit_w = np.maximum(np.minimum(cap_w, want_w), low_w)
        return self._limit_w


def _highest(watts: Callable[[float], Floats], sums: Sums, hard_w: Floats, target_w: Floats) -> float:
    low, high = 0.0, 2000.0
    for _ in range(40):
        middle = (low + high) / 2
        wall_w = sums.wall_w(watts(middle))
        fits = (wall_w <= np.minimum(hard_w, target_w) + 1e-6).all()
        low, high = (middle, high) if fits else (low, middle)
    return low


def oracle(plant: Plant, sums: Sums, hard_w: Floats, target_w: Floats) -> Floats:
    """The least lost work on the draws of this very moment: watts go where they buy most speed.

    Jobs count by their highest board; equal shares of draw within a job. Greedy on the twin's own curve, in
    steps of 1 % of natural draw along its concave hull.
    """
    natural_w, low_w = plant.jobs.natural_w, plant.layout.min_limit_w
    limit_w = np.minimum(natural_w, low_w)
    shares: list[tuple[float, int, float]] = []
    for number, job in enumerate(plant.jobs.running):
        mine_w = natural_w[job.boards]
        place = job.tape.row(job.played_s)
        works = place is not None and job.present and bool(job.tape.work[place])
        first = float((limit_w[job.boards] / mine_w).max())
        for ratio, gain in _hull(first):
            worth = len(job.boards) * gain / float(mine_w.sum())
            shares.append((worth if works else worth * 0.01, number, ratio))
    for _, number, ratio in sorted(shares, reverse=True):
        boards = plant.jobs.running[number].boards
        tried_w = limit_w.copy()
        tried_w[boards] = np.maximum(tried_w[boards], ratio * natural_w[boards])
        could_w = np.maximum(tried_w, low_w)  # an idle board could still draw its limit
        if (sums.wall_w(tried_w) <= target_w).all() and (sums.wall_w(could_w) <= hard_w).all():
            limit_w = tried_w
    return np.maximum(limit_w, low_w)


def _hull(first: float) -> list[tuple[float, float]]:
    """(ratio, speed per unit of ratio) of steps up from `first`, falling in the second."""
    ratios = np.append(np.arange(first, 1.0, 0.01), 1.0)
    speeds = speed.compute_bound(ratios)
    steps: list[tuple[float, float]] = []
    at = 0
    while at < len(ratios) - 1:
        slopes = (speeds[at + 1 :] - speeds[at]) / np.maximum(ratios[at + 1 :] - ratios[at], 1e-9)
        to = at + 1 + int(np.argmax(slopes))
        span = range(at + 1, to + 1)
        steps += [(float(ratios[k]), float(slopes.max())) for k in span]
        at = to
    return steps
