"""Proportional power steering: each second, watts that boards leave unused go to those that stand at their cap.

Sources: Ellsworth et al., "Dynamic Power Sharing for Higher Job Throughput", SC 2015, and those that followed it
(Penelope, ICPP 2022). In every interval a board that draws clearly less than its cap keeps what it uses and gives the
rest to a pool; boards pinned at their caps share all that is left in proportion to their rating. The interval is 1 s.
The budget of a domain is its target in force less what stands there; caps of nested domains fit each. A measured excess
over the target is taken off the budget. It knows no speed curve, no priority, no job that spans boards, no overshoot.
"""

import numpy as np

from easyrider_bench.controllers.contract import Floats, Observation, Site
from easyrider_bench.controllers.tree import Draws, Tree

PINNED = 0.90
KEEPS = 1.15
"""A board that gives watts away keeps so much of its draw: by its own meter, which may read some per cent low."""
LEAST_W = 0.1


class Steering:
    """One cap a board, moved every second."""

    def __init__(self, site: Site, _seed: int = 0) -> None:
        self._site, self._tree, self._draws = site, Tree(site), Draws(site)

    def decide(self, now_s: float, seen: Observation) -> Floats | None:  # noqa: ARG002
        """Caps of the next second."""
        site, draw_w, cap_w = self._site, self._draws.newest_w(seen), seen.enforced_w
        slopes = self._tree.slopes(seen.carries)
        budget_w = seen.target_w - self._tree.standing_w(seen.carries)
        excess_w = np.where(np.isfinite(seen.meter_w), np.maximum(seen.meter_w - seen.target_w, 0.0), 0.0)
        return steered(draw_w, cap_w, slopes, budget_w - excess_w, (site.min_w, site.max_w))


def steered(
    draw_w: Floats, cap_w: Floats, slopes: Floats, budget_w: Floats, span_w: tuple[Floats, Floats]
) -> Floats:
    """Next caps (G,): `budget_w` (D,) wall watts for boards, `slopes` (D, G), `span_w` the device's range."""
    low_w, high_w = span_w
    pinned = draw_w >= PINNED * cap_w
    kept_w = np.minimum(cap_w, np.clip(KEEPS * draw_w, low_w, high_w))
    next_w = _fitting(np.where(pinned, low_w, kept_w), low_w, slopes, budget_w)
    for _ in range(len(budget_w) + 1):
        # Everybody who still grows rises by one share of the rating, as far as the tightest domain allows.
        growing = pinned & (next_w < high_w - LEAST_W)
        room_w = budget_w - slopes @ next_w
        growing &= ~(slopes[room_w < LEAST_W] > 0).any(axis=0)
        wish_w = slopes @ np.where(growing, high_w, 0.0)
        part = np.where(wish_w > 0, room_w / np.where(wish_w > 0, wish_w, 1.0), np.inf).min()
        if not growing.any() or part <= 0.0:
            break
        next_w = np.where(growing, np.minimum(next_w + part * high_w, high_w), next_w)
    return next_w


def _fitting(cap_w: Floats, low_w: Floats, slopes: Floats, budget_w: Floats) -> Floats:
    """Caps shrunk towards the device minimum, in proportion, until every domain's budget holds them."""
    above_w = np.maximum(cap_w - low_w, 0.0)
    spare_w = budget_w - slopes @ low_w
    taken_w = slopes @ above_w
    share = np.where(taken_w > spare_w, np.maximum(spare_w, 0.0) / np.where(taken_w > 0, taken_w, 1.0), 1.0)
    least = np.where(slopes > 0, share[:, None], 1.0).min(axis=0)
    return np.asarray(low_w + above_w * least, dtype=np.float64)
