"""One question of sharing watts: jobs with concave speed curves under nested budgets."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core import curves
from easyrider_policy.core.layout import Layout
from easyrider_policy.core.weights import Loads, on_domains

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SLACK_W = 1e-6


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Problem:
    """Maximise sum of weight x boards x speed, `floor_w` <= watts per board <= `top_w`, all within budgets.

    What counts against a target is the mean over its window, so it may weigh less than the limit itself.
    Budgets are wall watts left for these jobs. A job with `boards` 0 takes no part.
    """

    layout: Layout
    loads: Loads
    boards: Floats  # (J,)
    peak_w: Floats  # (J,) natural draw per board
    busy: Ints  # (J,) class
    floor_w: Floats  # (J,)
    top_w: Floats  # (J,)
    fallback_w: Floats  # (J,) a board whose limit is lower still counts this against hard limits
    drawn: Floats  # (P,) wall watts that count against a domain's target, per board watt of limit
    drawn_at_leaf: Floats  # (L,) the same on nearest domains
    target_w: Floats  # (D,)
    hard_w: Floats  # (D,)

    def drawn_w(self, per_board_w: Floats) -> Floats:
        """Wall watts per domain that count against `target_w`."""
        return on_domains(self.layout, self.drawn, per_board_w)

    def held_w(self, per_board_w: Floats) -> Floats:
        """Wall watts per domain that count against `hard_w`."""
        return on_domains(self.layout, self.loads.worst, np.maximum(per_board_w, self.fallback_w))

    def value(self, per_board_w: Floats) -> float:
        """Weighted boards' worth of speed."""
        speed = curves.speed(per_board_w / self.peak_w, self.busy)
        return float(np.sum(self.layout.weight * self.boards * speed))

    def most(self) -> float:
        """The value when nothing is limited."""
        return float(np.sum(self.layout.weight * self.boards))
