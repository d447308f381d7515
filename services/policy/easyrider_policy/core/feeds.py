"""What share of a node's draw each domain above it carries: every feed working, and the worst single loss.

A domain on two feeds draws half from each; when one, or what feeds it, is lost, the other carries all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Links:
    """One entry per (domain above, thing below): what share of the thing's watts the domain carries."""

    above: Ints
    below: Ints
    normal: Floats
    worst: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Weights:
    """Sums of node watts and of domain watts up the tree."""

    domain_count: int
    of_nodes: Links  # entries of one node: nearest domain first
    of_domains: Links

    def normal(self, node_w: Floats) -> Floats:
        """Watts per domain of watts per node, every feed working."""
        return self._sum(self.of_nodes, self.of_nodes.normal, node_w)

    def worst(self, node_w: Floats) -> Floats:
        """Watts per domain of watts per node, in the worst single loss of a feed for that domain."""
        return self._sum(self.of_nodes, self.of_nodes.worst, node_w)

    def normal_above(self, domain_w: Floats) -> Floats:
        """Watts per domain of watts drawn in each domain itself: its own and all below."""
        return self._sum(self.of_domains, self.of_domains.normal, domain_w)

    def worst_above(self, domain_w: Floats) -> Floats:
        """The same in the worst single loss of a feed."""
        return self._sum(self.of_domains, self.of_domains.worst, domain_w)

    def nodes_below(self, domain: int) -> Ints:
        """Rows of every node below a domain."""
        found: Ints = self.of_nodes.below[self.of_nodes.above == domain]
        return found

    def any_node(self, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which domains have a marked node below."""
        found = np.zeros(self.domain_count, dtype=np.bool_)
        found[self.of_nodes.above[marked[self.of_nodes.below]]] = True
        return found

    def count(self, of_node: Ints) -> Ints:
        """How many there are below each domain, of counts per node."""
        links = self.of_nodes
        counted = np.bincount(links.above, weights=of_node[links.below], minlength=self.domain_count)
        return np.rint(counted).astype(np.int64)

    def ancestors(self, node_count: int) -> Ints:
        """(node_count, deepest) domains above each node, nearest first, -1 where there is none left."""
        below = self.of_nodes.below
        depth = np.bincount(below, minlength=node_count)
        first = np.concatenate([[0], np.cumsum(depth)[:-1]])
        table = np.full((node_count, int(depth.max(initial=0))), -1, dtype=np.int64)
        table[below, np.arange(len(below)) - first[below]] = self.of_nodes.above
        return table

    def _sum(self, links: Links, share: Floats, watts: Floats) -> Floats:
        # An empty bincount may come as integers.
        total = np.bincount(links.above, weights=share * watts[links.below], minlength=self.domain_count)
        return total.astype(np.float64, copy=False)


def weights(
    parents: Sequence[Sequence[int]], node_domain: Ints, lost: frozenset[int] = frozenset()
) -> Weights:
    """Shares for domains given parents first. `lost`: domains that are dark now."""
    climbs = [_climb(start, parents, lost) for start in range(len(parents))]
    empty = np.zeros(0, dtype=np.int64)
    domain_links = _links(climbs, np.arange(len(parents), dtype=np.int64))
    node_links = _links(climbs, node_domain) if len(node_domain) else _links([], empty)
    return Weights(domain_count=len(parents), of_nodes=node_links, of_domains=domain_links)


Climb = tuple[list[int], list[float], list[float]]


def _links(climbs: Sequence[Climb], starts: Ints) -> Links:
    sizes = [len(climbs[start][0]) for start in starts]
    below = np.repeat(np.arange(len(starts), dtype=np.int64), sizes)
    return Links(
        above=np.array([cell for start in starts for cell in climbs[start][0]], dtype=np.int64),
        below=below,
        normal=np.array([cell for start in starts for cell in climbs[start][1]], dtype=np.float64),
        worst=np.array([cell for start in starts for cell in climbs[start][2]], dtype=np.float64),
    )


def _climb(start: int, parents: Sequence[Sequence[int]], lost: frozenset[int]) -> Climb:
    """Domains at and above `start`, nearest first, with their share now and in the worst further loss."""
    above = _at_and_above(start, parents)
    now = _shares(start, above, parents, lost)
    worst = dict(now)
    if any(len(parents[domain]) > 1 for domain in above):
        for gone in above:
            for domain, share in _shares(start, above, parents, lost | {gone}).items():
                worst[domain] = max(worst[domain], share)
    return above, [now[domain] for domain in above], [worst[domain] for domain in above]


def _at_and_above(start: int, parents: Sequence[Sequence[int]]) -> list[int]:
    found, front = {start}, [start]
    while front:
        front = [p for domain in front for p in parents[domain] if p not in found]
        found.update(front)
    return sorted(found, reverse=True)  # parents stand first, so a higher row is nearer


def _shares(
    start: int, above: Sequence[int], parents: Sequence[Sequence[int]], lost: frozenset[int]
) -> dict[int, float]:
    dark: set[int] = set()
    for domain in reversed(above):
        if domain in lost or (parents[domain] and all(p in dark for p in parents[domain])):
            dark.add(domain)
    share = dict.fromkeys(above, 0.0)
    share[start] = 1.0
    for domain in above:
        # With no feed left nothing is drawn; the shares stay, since what we believe lost may not be.
        alive = [p for p in parents[domain] if p not in dark] or parents[domain]
        for parent in alive:
            share[parent] += share[domain] / len(alive)
    return share
