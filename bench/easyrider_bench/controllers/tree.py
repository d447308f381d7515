"""What a board's watt weighs on each domain, and what stands there besides: arithmetic of the simple controllers."""

import numpy as np

from easyrider_bench.controllers.contract import Bools, Floats, Observation, Site

IDLE_WEIGHT = 0.0


class Tree:
    """Wall watts of a site's domains (D,) from GPU watts (G,), by declared overheads."""

    def __init__(self, site: Site) -> None:
        self.site = site
        parents = [-1 if d.parent is None else d.parent for d in site.domains]
        self.upper: Bools = np.isin(np.arange(len(site.domains)), parents)  # domains below which others hang
        self.declared_w: Floats = site.contains @ np.array(
            [d.fixed_w + d.unmanaged_max_w for d in site.domains]
        )

    def slopes(self, carries: Floats) -> Floats:
        """Wall watts of each domain per GPU watt, (D, G)."""
        return np.asarray((carries * self.site.overhead_slope)[:, self.site.node_of], dtype=np.float64)

    def standing_w(self, carries: Floats) -> Floats:
        """Overhead of nodes, fixed and declared unmanaged load (D,): what stands when no board draws."""
        return np.asarray(carries @ self.site.overhead_w + self.declared_w, dtype=np.float64)

    def one_feed_left(self) -> tuple[Floats, ...]:
        """`carries` after the loss of either feed: a node's whole draw on the other; () where no node has two."""
        if self.site.feeds is None:
            return ()
        found = []
        for dark in self.site.feeds:
            left = np.where(self.site.carries > 0, 1.0, 0.0)
            left[dark] = 0.0
            found.append(left)
        return tuple(found)


class Draws:
    """The newest one-second means of all boards (G,), as a power capping agent of a server reads them."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._last_w: Floats = np.full(site.gpus, np.nan)

    def newest_w(self, seen: Observation) -> Floats:
        """What each board draws; one that is not heard counts its limit."""
        if len(seen.average_w):
            rows = seen.average_w
            for row in rows:
                self._last_w = np.where(np.isnan(row), self._last_w, row)
        silent = (seen.silent_s > 0)[self._site.node_of]
        return np.where(silent | np.isnan(self._last_w), seen.enforced_w, self._last_w)


def weights(site: Site, seen: Observation) -> Floats:
    """Priority weight of the job on each board (G,); 0 without one."""
    found = np.full(site.gpus, IDLE_WEIGHT)
    for job in seen.jobs:
        found[job.boards] = site.priorities[job.priority_class].weight
    return found
