"""POLCA's two thresholds: clocks of low priority fall above 90 %, of all above 97 %, and a brake above 100 %.

Source: Patel et al., "Characterizing Power Management Opportunities for LLMs in the Cloud" (POLCA), ASPLOS 2024.
Its rules as taken here: every 2 s the domain's power is held against its limit. Above the first threshold low priority
is capped to 1275 of 1410 MHz; above the second low priority to 1110 and high priority to 1305 MHz; above the limit the
power brake takes all to 288 MHz. Each step is taken back once power is 5 % under its threshold. Boards of the twin take
power limits and no clocks, so a clock is taken as the same share of the rating (the paper sees 1.1 GHz take about 20 %
off the peak), the brake as the device minimum. Low priority is whatever is not of the highest weight that runs. The
limit is the target in force. It knows no speed curve and no job that spans boards.
"""

import numpy as np

from easyrider_bench.controllers.contract import Floats, Ints, Observation, Site
from easyrider_bench.controllers.tree import Tree, weights

FIRST, SECOND, BRAKE = 0.90, 0.97, 1.00
BACK = 0.05
_FULL_MHZ = 1410.0
LOW_FIRST, LOW_SECOND, HIGH_SECOND = 1275 / _FULL_MHZ, 1110 / _FULL_MHZ, 1305 / _FULL_MHZ


class TwoThreshold:
    """How deep each domain is in: 0 nothing, 1 and 2 the thresholds, 3 the brake."""

    def __init__(self, site: Site, _seed: int = 0) -> None:
        self._site, self._tree = site, Tree(site)
        self._depth: Ints = np.zeros(len(site.domains), dtype=np.intp)

    def decide(self, now_s: float, seen: Observation) -> Floats | None:  # noqa: ARG002
        """Limits of the next 2 s."""
        site = self._site
        load = seen.meter_w / np.where(seen.target_w > 0, seen.target_w, np.nan)
        self._depth = np.array(
            [deeper(int(d), float(x)) for d, x in zip(self._depth, load, strict=True)], dtype=np.intp
        )
        below = self._tree.slopes(seen.carries) > 0
        depth = np.where(below, self._depth[:, None], 0).max(axis=0)
        weight = weights(site, seen)
        high = weight >= weight.max()
        share = np.select(
            [depth == 0, depth == 1, depth == 2],
            [1.0, np.where(high, 1.0, LOW_FIRST), np.where(high, HIGH_SECOND, LOW_SECOND)],
        )
        return np.where(depth == 3, site.min_w, np.clip(share * site.max_w, site.min_w, site.max_w))


def deeper(depth: int, load: float) -> int:
    """The next depth at `load`, power over limit; unknown power changes nothing."""
    for step, threshold in ((3, BRAKE), (2, SECOND), (1, FIRST)):
        if load > threshold or (depth >= step and not load < threshold - BACK):
            return step
    return 0 if load == load else depth
