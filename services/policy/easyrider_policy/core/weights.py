"""What one watt per board of each job weighs on every domain, with boards that are not ours to steer left out."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.layout import Layout
from easyrider_policy.core.tally import tally

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Loads:
    """Wall watts per (board watt of a job): (L,) on nearest domains, (P,) on every domain; `per_job` their sum."""

    at_leaf: Floats
    normal: Floats  # (P,) every feed working
    worst: Floats  # (P,) worst single loss of a feed
    per_job: Floats  # (J,) wall watts that a watt per board of the job brings, over all its boards


def loads(layout: Layout, factor: Floats, could: Floats | None = None) -> Loads:
    """Weights of jobs. `factor` (G,): draw per watt of limit (overshoot), 0 for boards that are not steered.

    `could` (G,): the same at its worst, for hard limits, where that is more.
    """
    fleet = layout.fleet
    node_slope = fleet.overhead_slope[fleet.gpu_node[layout.seat]]
    at_leaf = tally(layout.seat_leaf, node_slope * factor[layout.seat], len(layout.leaf_job))
    linked = at_leaf[layout.link_leaf]
    worst = linked
    if could is not None:
        worst = tally(layout.seat_leaf, node_slope * could[layout.seat], len(layout.leaf_job))[
            layout.link_leaf
        ]
    pairs = len(layout.pair_job)
    return Loads(
        at_leaf=at_leaf,
        normal=tally(layout.link_pair, linked * layout.link_normal, pairs),
        worst=tally(layout.link_pair, worst * layout.link_worst, pairs),
        per_job=tally(layout.leaf_job, at_leaf, layout.job_count),
    )


def on_domains(layout: Layout, pair_weight: Floats, per_board_w: Floats) -> Floats:
    """Wall watts per domain (D,) of jobs at these watts per board."""
    watts = np.zeros(layout.domain_count)
    if len(layout.pair_rows):  # pairs stand sorted by domain
        at_pair = pair_weight * per_board_w[layout.pair_job]
        watts[layout.pair_rows] = np.add.reduceat(at_pair, layout.domain_pair_start)
    return watts


def least_of_domains(layout: Layout, domain_value: Floats) -> Floats:
    """Smallest value (J,) among the domains each job meets."""
    if not layout.job_count:
        return np.zeros(0)
    ordered = domain_value[layout.pair_domain[layout.by_job]]
    return np.minimum.reduceat(ordered, layout.job_pair_start)
