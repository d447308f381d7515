"""One equal cap for every board, set once: what a site does that trusts nothing but arithmetic."""

import numpy as np

from easyrider_bench.controllers.contract import Floats, Observation, Site
from easyrider_bench.controllers.tree import Tree

OVER_CAP = 1.03


def equal_cap_w(site: Site) -> float:
    """The cap at which wall power meets the smallest target, W per board.

    Wall power with every board at 1.03 x its cap, fixed loads and the declared unmanaged maximum included, against the
    smallest target over what is planned for: of every domain, with both feeds and with either alone.
    """
    tree = Tree(site)
    least_w = np.array([domain.least_target_w for domain in site.domains])
    normal_w = np.array([domain.target_w for domain in site.domains])
    cases = [(site.carries, least_w if site.feeds is None else normal_w)]
    cases += [(carries, least_w) for carries in tree.one_feed_left()]
    cap_w = float(site.max_w.max())
    for carries, target_w in cases:
        slope = tree.slopes(carries).sum(axis=1)
        loaded = slope > 0
        room_w = (target_w - tree.standing_w(carries))[loaded]
        cap_w = min(cap_w, float((room_w / (OVER_CAP * slope[loaded])).min()))
    return cap_w


class Static:
    """Says its cap once."""

    def __init__(self, site: Site, _seed: int = 0) -> None:
        self._cap_w: Floats | None = np.clip(np.full(site.gpus, equal_cap_w(site)), site.min_w, site.max_w)

    def decide(self, now_s: float, seen: Observation) -> Floats | None:  # noqa: ARG002
        """The cap at the first look, nothing after."""
        cap_w, self._cap_w = self._cap_w, None
        return cap_w
