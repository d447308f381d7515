"""Dynamo's three bands: cap above 99 % of the limit down to 95 %, let go of everything under 90 %.

Source: Wu et al., "Dynamo: Facebook's Data Center-Wide Power Management System", ISCA 2016. Its rules as taken here:
leaf controllers look every 3 s and those above them every 9 s; the band between 90 % and 99 % changes nothing; a cut
comes from the lowest priority group first, within a group from the servers that draw most ("high bucket first"), and
from each no further than its floor. The limit is the target in force, read from the domain's own meter. Where the paper
hands contractual limits to controllers below, the cut of an upper domain is made on the boards below it at once, which
is quicker than the paper. It knows no speed curve, no job that spans servers, and no overshoot.
"""

import numpy as np

from easyrider_bench.controllers.contract import Floats, Observation, Site
from easyrider_bench.controllers.tree import Draws, Tree, weights

CAP_ABOVE, CAP_TO, LET_GO_UNDER = 0.99, 0.95, 0.90
LEAF_S, UPPER_S = 3.0, 9.0
_ROUNDS = 40


class ThreeBand:
    """Caps of each domain's controller; a board obeys the lowest above it."""

    def __init__(self, site: Site, _seed: int = 0) -> None:
        self._site, self._tree, self._draws = site, Tree(site), Draws(site)
        self._caps_w: Floats = np.full((len(site.domains), site.gpus), np.inf)
        self._upper_at_s = -np.inf

    def decide(self, now_s: float, seen: Observation) -> Floats | None:
        """Limits of this moment; asked every 3 s."""
        upper_due = now_s - self._upper_at_s >= UPPER_S - 1e-6
        if upper_due:
            self._upper_at_s = now_s
        draw_w, weight = self._draws.newest_w(seen), weights(self._site, seen)
        slopes = self._tree.slopes(seen.carries)
        for place in range(len(self._site.domains)):
            if self._tree.upper[place] and not upper_due:
                continue
            self._control(
                place, float(seen.meter_w[place]), float(seen.target_w[place]), slopes[place], draw_w, weight
            )
        limit_w: Floats = np.clip(self._caps_w.min(axis=0), self._site.min_w, self._site.max_w)
        return limit_w

    def _control(
        self, place: int, power_w: float, limit_w: float, slope: Floats, draw_w: Floats, weight: Floats
    ) -> None:
        if power_w > CAP_ABOVE * limit_w:
            cut_w = power_w - CAP_TO * limit_w
            caps_w = cuts(cut_w, slope, draw_w, self._site.min_w, weight)
            self._caps_w[place] = np.minimum(self._caps_w[place], caps_w)
        elif power_w < LET_GO_UNDER * limit_w:
            self._caps_w[place] = np.inf


def cuts(cut_w: float, slope: Floats, draw_w: Floats, floor_w: Floats, weight: Floats) -> Floats:
    """Caps (G,) that take `cut_w` wall watts off `draw_w`, infinite where nothing is taken.

    `slope` (G,): wall watts per GPU watt, 0 for a board that is not below. Lower `weight` first, all of it before
    the next; within one weight those that draw most, down to one common level.
    """
    caps_w = np.full(len(draw_w), np.inf)
    for group in np.unique(weight[slope > 0]):
        if cut_w <= 0:
            break
        mine = (weight == group) & (slope > 0) & (draw_w > floor_w)
        most_w = float((slope[mine] * (draw_w - floor_w)[mine]).sum())
        low_w, high_w = 0.0, float(draw_w[mine].max(initial=0.0))
        for _ in range(_ROUNDS if cut_w < most_w else 0):
            level_w = (low_w + high_w) / 2
            taken_w = slope[mine] * (draw_w - np.maximum(floor_w, level_w))[mine].clip(min=0.0)
            low_w, high_w = (level_w, high_w) if taken_w.sum() > cut_w else (low_w, level_w)
        level = np.maximum(floor_w, low_w)
        taken = mine & (draw_w > level)
        caps_w[taken] = level[taken]
        cut_w -= most_w
    return caps_w
