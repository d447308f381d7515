"""Domains that forecasts say will cross their target: what is over is kept back before it is drawn.

A job that will rise is planned for by its own forecast (`ahead.py`). What no job shows alone is that their means will
come together: each is credited with what it draws over ten seconds, and a domain is where that adds up. So the mean
that a domain is forecast to draw over its own window is held against its target, one window before it is there.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from easyrider.messages import SeriesForecast
from easyrider_policy.core.ahead import TRUSTED, reaching
from easyrider_policy.core.fleet import Fleet

Floats = NDArray[np.float64]

CROSSES: Final = 0.02
"""Over a target by less is within what a sum of means may be wrong by: such a crossing is left to the meter."""
HOLDS_S: Final = 10.0
"""A crossing that was averted is forecast no more; its watts stay kept back so long, or limits would swing with it."""


class Foreseen:
    """The highest mean of boards (D,) that forecasts of the last seconds expect, as wall watts."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        boards = np.bincount(fleet.gpu_node, minlength=len(fleet.nodes)).astype(np.float64)
        self._boards = fleet.weights.normal(boards)
        slope_w = fleet.weights.normal(fleet.overhead_slope * boards)
        self._slope = slope_w / np.maximum(self._boards, 1e-9)
        self._highest_w: Floats = np.full(len(fleet.domains), np.nan)
        self._until_s: Floats = np.full(len(fleet.domains), -np.inf)

    def heard(self, series: tuple[SeriesForecast, ...], now_s: float) -> None:
        """What a message says of domains; one of low confidence, or of other boards than ours, is left aside."""
        for one in series:
            row = self.fleet.domain_index.get(one.id) if one.scope == "domain" else None
            if row is None or one.confidence < TRUSTED or one.basis == "nameplate" or not one.draw:
                continue
            if one.gpu_count != round(float(self._boards[row])):
                continue
            window = reaching(one.draw, self.fleet.domain_records[row].target_window_s)
            mean_w = window.mean_w * float(self._slope[row])
            if not (now_s <= self._until_s[row] and self._highest_w[row] > mean_w):
                self._highest_w[row], self._until_s[row] = mean_w, now_s + HOLDS_S

    def part_w(self, now_s: float) -> Floats:
        """Wall watts (D,) that boards are expected to bring as a mean, NaN where nothing is."""
        return np.where(now_s <= self._until_s, self._highest_w, np.nan)


def kept_back_w(part_w: Floats | None, standing_w: Floats, target_w: Floats) -> Floats:
    """What is taken off targets (D,) for the sake of crossings that are forecast."""
    if part_w is None:
        return np.zeros_like(target_w)
    over_w = np.nan_to_num(part_w, nan=-np.inf) + standing_w - target_w
    return np.where(over_w > CROSSES * target_w, over_w, 0.0)
