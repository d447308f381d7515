"""The sum rule per domain: what could be drawn, what room is left for raises, and where none may happen."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.fleet import Bools, Fleet, Floats
from easyrider_policy.core.unmanaged import Estimates


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Sums:
    """(D,) wall watts in the worst single loss of a feed. `blocked`: domains without raises, and why."""

    board_w: Floats  # (G,) board watts that these sums count
    counted_w: Floats  # boards, overhead, fixed, unmanaged and margin
    unmanaged_w: Floats
    hard_w: Floats
    room_w: Floats  # hard - counted; negative: over
    closed: Bools  # every board below is in `pilot` or `enforce` and takes a limit: the sum rule is proved
    uncontrolled: NDArray[np.int64]  # boards below that are not
    blocked: Mapping[int, str]


def add_up(
    fleet: Fleet,
    counted_w: Floats,
    managed: Bools,
    limitable: Bools,
    hard_w: Floats,
    estimates: Estimates,
    blocked: Mapping[int, str] | None = None,
) -> Sums:
    """Sums of board watts (G,) that could be drawn against the hard limits (D,) in force now.

    `managed` (G,): in `pilot` or `enforce`; such a board counts `counted_w` whether it takes limits or not.
    `limitable` (G,): takes limits. `estimates`: of unmanaged load. `blocked`: further domains without raises.
    """
    load = estimates.load(fleet, managed)
    boards_w = fleet.worst_wall_w(np.where(managed, counted_w, 0.0))
    total_w = boards_w + fleet.worst_fixed_w + load.watts + fleet.margin_w
    outside = np.bincount(fleet.gpu_node[~(managed & limitable)], minlength=len(fleet.nodes))
    outside += fleet.unheard.astype(np.int64)  # a board nobody has reported is controlled by nobody
    uncontrolled = fleet.weights.count(outside)
    reasons = {int(domain): "undeclared" for domain in np.flatnonzero(fleet.undeclared)}
    return Sums(
        board_w=counted_w,
        counted_w=total_w,
        unmanaged_w=load.watts,
        hard_w=hard_w,
        room_w=hard_w - total_w,
        closed=(uncontrolled == 0) & ~fleet.undeclared,
        uncontrolled=uncontrolled,
        blocked={**load.blocked, **reasons, **(blocked or {})},
    )


def blocked_above(fleet: Fleet, nodes: Bools, why: str) -> dict[int, str]:
    """Every domain above a marked node (N,), with `why` and the first such node's name."""
    if not nodes.any():
        return {}
    links = fleet.weights.of_nodes
    below, above = links.below[nodes[links.below]], links.above[nodes[links.below]]
    domains, first = np.unique(above, return_index=True)  # entries stand in the order of nodes
    return {int(d): f"{why}:{fleet.nodes[below[at]]}" for d, at in zip(domains, first, strict=True)}
