"""A battery that is to last for its planned runtime: when it empties faster, what may be drawn from it shrinks."""

import math
from typing import Final

GRAIN: Final = 0.05
"""The share moves in such steps: a battery's own reading is coarse."""


class Battery:
    """`share` of the planned target that it still affords; `left_s` at that target, None: not known."""

    def __init__(self, runtime_s: float | None) -> None:
        self.runtime_s = runtime_s
        self.share = 1.0
        self.left_s: float | None = None
        self._began_s: float | None = None
        self._first_pct = 100.0

    def heard(self, on_battery: bool, charge_pct: float | None, now_s: float) -> bool:
        """What a reading says; whether `share` moved by it. A charge that is not told changes nothing."""
        before = self.share
        if not on_battery:
            self.share, self.left_s, self._began_s = 1.0, None, None
            return self.share != before
        if self.runtime_s is None or charge_pct is None or not 0 <= charge_pct <= 100:
            return False
        if self._began_s is None:
            self._began_s, self._first_pct = now_s, charge_pct
        self.left_s = self.runtime_s * charge_pct / 100.0
        # The runtime is of a full battery: one that was not full at first has its part of it.
        planned_s = self.runtime_s * self._first_pct / 100.0
        gone = (now_s - self._began_s) / planned_s if planned_s > 0 else 1.0
        due_pct = self._first_pct * max(0.0, 1.0 - gone)
        if due_pct > 0:
            share = min(1.0, charge_pct / due_pct)
            self.share = min(self.share, math.ceil(share / GRAIN) * GRAIN)  # never up again while it empties
        return self.share != before
