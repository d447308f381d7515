"""How much of what meters show is drawn by boards of ours, so that the rest is load that nobody limits."""

import numpy as np

from easyrider_policy.core.fleet import Bools, Fleet, Floats

READ_S = 3.0
"""A board read less long ago draws what it drew then."""
LOST_S = 10.0
"""One unread for longer may draw nothing: what a meter shows there is somebody else's, until it is read again."""


def ours_w(fleet: Fleet, gpu_w: Floats, unread_s: Floats, managed: Bools, unmet_s: float) -> Floats:
    """(D,) wall watts that are not unmanaged load: limited boards, their machines, fixed load.

    `gpu_w` (G,): last good means, NaN where never read, `unread_s` ago; a node without boards was not met for
    `unmet_s`. NaN where a board below is unread, or a node unmet, for a moment only: a meter proves nothing
    there, and its age grows. Boards and machines nobody reads are not ours here, though the sums count them at
    their worst: they may be dark, and then others draw what the meter shows.
    """
    nodes = len(fleet.nodes)
    unsure: Bools = (np.diff(fleet.first_gpu) == 0) & (unmet_s <= LOST_S)
    # Of a board never read, `unread_s` says how long ago it was met: its frame is on the way.
    unread = (unread_s > READ_S) | np.isnan(gpu_w)
    unsure[fleet.gpu_node[managed & unread & (unread_s <= LOST_S)]] = True
    # What nobody limits is load that no limit of ours holds: it stays in the difference.
    board_w = np.where(managed & ~unread, np.nan_to_num(gpu_w, nan=0.0), 0.0)
    node_w = fleet.overhead_slope * np.bincount(fleet.gpu_node, weights=board_w, minlength=nodes)
    runs = np.bincount(fleet.gpu_node[~unread], minlength=nodes) > 0
    node_w += np.where(runs, fleet.overhead_w, 0.0)
    return np.where(fleet.weights.any_node(unsure), np.nan, fleet.weights.normal(node_w) + fleet.fixed_w)
