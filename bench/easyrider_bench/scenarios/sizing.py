"""The hall's power tree, sized once from what its jobs draw at their highest.

x % oversubscribed: the natural wall peak is (1 + x) times 0.80 of the rack's rating, and each PDU's rating is 5 %
looser than its half. A target share moves targets, never ratings.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from easyrider_bench.cases import HallJob, Stranger
from easyrider_bench.controllers.contract import Contingency, Floats, SiteDomain
from easyrider_twin.world import PDU_CURVE, UPS_CURVE, GpuModel, Node

SIZED_SHARE = 0.80
LOOSER = 1.05
PDU_FIXED_W = 250.0
MODULES = 5
FEED_SHARE = 0.70
"""Of the rack's rating: each of two feeds. Together they carry the rack easily; one alone is what the loss leaves."""
NODES, PDUS, PER_NODE = 8, 2, 8
NODE = Node(id="node", domain="pdu")
MODEL = GpuModel()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """Domains with what passes them, as `Site` has it."""

    domains: tuple[SiteDomain, ...]
    carries: Floats
    contains: Floats
    feeds: tuple[int, int] | None


def natural_peak_w(jobs: Sequence[HallJob], strangers: Sequence[Stranger]) -> float:
    """Wall watts with every board at the highest natural draw of any job on it, fixed and other loads included."""
    high_w = np.full(NODES * PER_NODE, MODEL.idle_w)
    for job in jobs:
        there = job.tape.draw_w[job.tape.present]
        high_w[job.boards] = np.maximum(high_w[job.boards], there.max(axis=0))
    other_w = sum(float(s.power_w.max()) for s in strangers)
    machines_w = NODES * NODE.overhead_w + NODE.overhead_slope * float(high_w.sum())
    return machines_w + PDUS * PDU_FIXED_W + other_w


def rating_w(peak_w: float, oversub_pct: float) -> float:
    """Rating of the rack."""
    return peak_w / ((1.0 + oversub_pct / 100.0) * SIZED_SHARE)


def tree(
    rated_w: float,
    *,
    target_share: float,
    hard_is_target: Sequence[str] = (),
    strangers: Sequence[Stranger] = (),
    planned: Sequence[tuple[str, float]] = (),
    two_feeds: bool = False,
) -> Tree:
    """A rack over two PDUs, and over it two feeds if asked.

    `hard_is_target` names kinds of domains; `planned` holds (name, share) of losses of the rack's supply.
    """

    def domain(name: str, kind: str, parent: int | None, at_w: float, **more: object) -> SiteDomain:
        target_w = target_share * at_w
        return SiteDomain(
            id=name,
            kind=kind,  # type: ignore[arg-type]
            parent=parent,
            rating_w=at_w,
            hard_limit_w=target_w if kind in hard_is_target else at_w,
            target_w=target_w,
            curve=PDU_CURVE if kind == "pdu" else UPS_CURVE,
            **more,  # type: ignore[arg-type]
        )

    most_w = [
        sum(float(s.power_w.max()) for s in strangers if s.domain == place) for place in range(PDUS + 1)
    ]
    hard_w = target_share * rated_w if "ups" in hard_is_target else rated_w
    losses = tuple(
        Contingency(name=name, hard_limit_w=share * hard_w, target_w=share * target_share * rated_w)
        for name, share in planned
    )
    rack = domain(
        "rack", "ups", None, rated_w, modules=MODULES, contingencies=losses, unmanaged_max_w=most_w[0]
    )
    pdus = [
        domain(
            f"pdu-{place}",
            "pdu",
            0,
            LOOSER * rated_w / PDUS,
            fixed_w=PDU_FIXED_W,
            unmanaged_max_w=most_w[place],
        )
        for place in range(1, PDUS + 1)
    ]
    domains = [rack, *pdus]
    carries, contains = np.zeros((3, NODES)), np.eye(3)
    carries[0], contains[0] = 1.0, 1.0
    for node in range(NODES):
        carries[1 + node * PDUS // NODES, node] = 1.0
    if not two_feeds:
        return Tree(domains=tuple(domains), carries=carries, contains=contains, feeds=None)
    domains += [domain(f"feed-{side}", "feed", None, FEED_SHARE * rated_w) for side in "ab"]
    both = np.zeros((5, 5))
    both[:3, :3] = contains
    both[3:, :3] = 0.5
    both[3, 3] = both[4, 4] = 1.0
    return Tree(
        domains=tuple(domains),
        carries=np.vstack([carries, np.full((2, NODES), 0.5)]),
        contains=both,
        feeds=(3, 4),
    )
