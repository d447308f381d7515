"""Boards that something else than our limit slows: heat, or a limiter that nobody told us of.

A board says that a power cap slows it. That is our limit only where it also draws near it; a board that says so far
below its limit is held by its supply, its platform or a fault. It gets no more watts, none are taken from it, since
what it draws may follow the limit down, and its low draw says nothing about what its job wants. A board that says
heat slows it draws what it can be cooled for: its limit follows, and the watts that it cannot use go elsewhere.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

NEAR_SHARE: Final = 0.90
"""Of its limit: a board that draws more is held by us, sensors reading low."""
LEAST_SHARE: Final = 0.55
"""What draws less of its limit waits, whatever the flag says: its watts are lent as those of any job that waits."""
AFTER_S: Final = 4.0
"""Longer than any phase of communication: such a draw is low by itself, and boards tell of reasons once a second."""
HEAT_AFTER_S: Final = 3.0
COOLS_S: Final = 30.0
"""A board that heat slowed stays where it was so long: raised at once it would be as hot again."""
ABOVE_SHARE: Final = 1.05
GRAIN_W: Final = 10.0
_PER_S: Final = 0.2


class Limiters:
    """Columns over boards: `other` (G,) held by something unknown, `heat_w` (G,) what heat allows, else infinite."""

    def __init__(self, boards: int) -> None:
        self.other: Bools = np.zeros(boards, dtype=np.bool_)
        self.heat_w = np.full(boards, np.inf)
        self.other_s, self.hot_s = np.zeros(boards), np.zeros(boards)
        self.cool_s = np.full(boards, np.inf)
        self.slow_w = np.full(boards, np.nan)  # draw while hot, slowly

    @property
    def held(self) -> Bools:
        """Boards (G,) whose draw says nothing about what their jobs want."""
        held: Bools = self.other | np.isfinite(self.heat_w)
        return held

    @property
    def slowed(self) -> Bools:
        """Boards (G,) that try to do more and cannot, held long enough or not."""
        slowed: Bools = (self.other_s > 0) | (self.hot_s > 0) | self.held
        return slowed

    def take(self, old: "Limiters", here: Ints, there: Ints) -> None:
        """What another fleet's rows `there` knew, for rows `here`."""
        for name in ("other", "heat_w", "other_s", "hot_s", "cool_s", "slow_w"):
            getattr(self, name)[here] = getattr(old, name)[there]

    def add(
        self, draw_w: Floats, limit_w: Floats, flagged: Bools | None, hot: Bools | None, span_s: float
    ) -> None:
        """Take the highest draw (G,) of `span_s`, NaN unknown; `flagged`, `hot`: what boards say slows them."""
        if flagged is not None and (flagged.any() or self.other_s.any()):
            far = flagged & (draw_w <= NEAR_SHARE * limit_w) & (draw_w >= LEAST_SHARE * limit_w)
            self.other_s = np.where(far, self.other_s + span_s, 0.0)
            self.other = self.other_s >= AFTER_S
        if hot is not None and (hot.any() or self.hot_s.any() or np.isfinite(self.heat_w).any()):
            self._heat(draw_w, hot, span_s)

    def _heat(self, draw_w: Floats, hot: Bools, span_s: float) -> None:
        share = min(1.0, _PER_S * span_s)
        began = hot & (self.hot_s == 0)
        known = np.where(began | np.isnan(self.slow_w), draw_w, self.slow_w)
        self.slow_w = np.where(hot & np.isfinite(draw_w), known + share * (draw_w - known), self.slow_w)
        self.hot_s = np.where(hot, self.hot_s + span_s, 0.0)
        self.cool_s = np.where(hot, 0.0, self.cool_s + span_s)
        allowed_w = np.ceil(ABOVE_SHARE * self.slow_w / GRAIN_W) * GRAIN_W
        held = (self.hot_s >= HEAT_AFTER_S) & np.isfinite(allowed_w)
        moved = held & ~(np.abs(allowed_w - self.heat_w) <= GRAIN_W)
        self.heat_w = np.where(moved, allowed_w, self.heat_w)
        self.heat_w[self.cool_s >= COOLS_S] = np.inf
