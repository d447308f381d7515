"""Advice for schedulers: which nodes heat slows, and which cooler ones could take their work."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.fleet import Bools, Fleet, Floats

Ints = NDArray[np.int64]

COOLER_C = 8.0
"""A node is no better for a job unless it is cooler by so much."""
NAMED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """Heat slows `boards` boards of a node, the hottest at `hottest_c`; `to`: where as many are idle, coolest first."""

    node: str
    boards: int
    hottest_c: float | None
    to: tuple[str, ...]


def drains(fleet: Fleet, slowed: Bools, temperature_c: Floats, idle: Bools) -> tuple[Drain, ...]:
    """One for each node with a board that heat slows, hottest first.

    `slowed`, `idle` (G,): boards held by heat, boards in no job; `temperature_c` (G,), NaN unknown. A node whose
    temperature nobody knows is no place to send work to.
    """
    nodes = len(fleet.nodes)
    hot = np.bincount(fleet.gpu_node[slowed], minlength=nodes)
    if not hot.any():
        return ()
    hottest_c = np.full(nodes, -np.inf)
    np.fmax.at(hottest_c, fleet.gpu_node, temperature_c)
    unread = np.bincount(fleet.gpu_node[np.isnan(temperature_c)], minlength=nodes) > 0
    free = np.bincount(fleet.gpu_node[idle], minlength=nodes)
    order = np.argsort(hottest_c, kind="stable")
    found = []
    for node in order[::-1][hot[order[::-1]] > 0].tolist():
        cooler = (hottest_c <= hottest_c[node] - COOLER_C) & (hot == 0) & ~unread & (free >= hot[node])
        there = order[cooler[order]][:NAMED]
        found.append(
            Drain(
                node=fleet.nodes[node],
                boards=int(hot[node]),
                hottest_c=float(hottest_c[node]) if np.isfinite(hottest_c[node]) else None,
                to=tuple(fleet.nodes[row] for row in there.tolist()),
            )
        )
    return tuple(found)
