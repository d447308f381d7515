"""Watts of the present moment into the accounts of demand windows."""

import numpy as np

from easyrider_policy.core.domain_draw import Draws
from easyrider_policy.picture import Picture


def bill(picture: Picture, draws: Draws | None, now_s: float, unix_s: float) -> bool:
    """Count what is drawn, by the meter where it speaks, else by the boards; whether a ceiling moved."""
    billing = picture.billing
    if not billing.every:
        return False
    shown_w = picture.meters.shown_w(now_s)
    loads = {}
    if draws is not None and len(draws.standing_w) == len(shown_w):
        loads = {one.row: draws.load(one.row) for one in billing.every}
        if picture.walls.filled:
            summed_w = picture.walls.window_w(1) + picture.walls.standing_w(draws.unmanaged_w)
            shown_w = np.where(np.isnan(shown_w), summed_w, shown_w)
    return billing.pass_to(now_s, unix_s, shown_w, loads)
