"""Boards that nobody limits: read like any other, and counted once, as part of the load that no limit of ours holds."""

import numpy as np

from easyrider_policy.core.fleet import Bools, Fleet, Floats


def drawn_w(fleet: Fleet, foreign: Bools, gpu_w: Floats) -> Floats:
    """(D,) wall watts that boards `foreign` (G,) were last read to draw; what was never read draws nothing here."""
    if not foreign.any():
        return np.zeros(len(fleet.domains))
    board_w = np.where(foreign, np.nan_to_num(gpu_w, nan=0.0), 0.0)
    node_w = np.bincount(fleet.gpu_node, weights=board_w, minlength=len(fleet.nodes))
    return fleet.weights.normal(fleet.overhead_slope * node_w)


def could_w(fleet: Fleet, foreign: Bools, counted_w: Floats) -> Floats:
    """(D,) wall watts that they count as boards (G,), in the worst loss of a feed."""
    return fleet.slope_w(np.where(foreign, counted_w, 0.0))


def besides(unmanaged_w: Floats, boards_w: Floats) -> Floats:
    """(D,) unmanaged load but for those boards: whoever counts them as boards must not count them twice."""
    return np.maximum(0.0, unmanaged_w - boards_w)
