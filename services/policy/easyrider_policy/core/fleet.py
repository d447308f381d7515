"""The fleet as arrays: boards, nodes and domains of one tree, and what a board watt weighs on each domain.

Built once per change of the rules or of the boards heard; never changed after. Boards stand sorted by
node, so a node's boards are one slice; domains stand parents first. Watts of boards are board watts, watts
of domains wall watts: overhead_w + overhead_slope x board watts, the upper values its node class declares.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from easyrider.errors import BadTree
from easyrider.tree import Domain, Node, NodeClass, Rules
from easyrider_policy.core.feeds import Weights, weights

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One GPU as its node reported it. Watts."""

    uuid: str
    node: str
    min_w: float
    max_w: float
    settable: bool = True


@dataclass(frozen=True, eq=False, kw_only=True)
class Fleet:
    """G boards, N nodes of the rules (heard or not), D domains. Index arrays are int64, watts float64."""

    gpus: tuple[str, ...]
    nodes: tuple[str, ...]
    domains: tuple[str, ...]
    gpu_node: Ints  # (G,) never falls
    min_w: Floats  # (G,)
    max_w: Floats  # (G,)
    settable: Bools  # (G,)
    first_gpu: Ints  # (N + 1,): boards of node n are first_gpu[n] : first_gpu[n + 1]
    node_domain: Ints  # (N,)
    node_class: tuple[str, ...]  # (N,)
    overhead_w: Floats  # (N,)
    overhead_slope: Floats  # (N,)
    fallback_w: Floats  # (N,) per board
    boot_guard: Bools  # (N,)
    unheard: Floats  # (N,) boards the class declares and nobody has reported
    class_min_w: Floats  # (N,) least limit of a board that the class declares, 0 if it does not
    unheard_w: Floats  # (N,) board watts of boards the class declares and nobody has reported
    unknown: Bools  # (N,) no board was ever reported and the class declares no maximum: cannot be counted
    domain_records: tuple[Domain, ...]
    parents: tuple[tuple[int, ...], ...]  # (D,) one, or two for a domain on two feeds
    hard_w: Floats  # (D,) as planned, without contingency
    aim_w: Floats  # (D,)
    smallest_hard_w: Floats  # (D,)
    margin_w: float
    fixed_w: Floats  # (D,) of the domain and all below it, by normal shares
    worst_fixed_w: Floats  # (D,) with the worst single loss of a feed
    weights: Weights

    @cached_property
    def gpu_index(self) -> dict[str, int]:
        """Row of a board by UUID."""
        return {uuid: row for row, uuid in enumerate(self.gpus)}

    @cached_property
    def node_index(self) -> dict[str, int]:
        """Row of a node by id."""
        return {node: row for row, node in enumerate(self.nodes)}

    @cached_property
    def domain_index(self) -> dict[str, int]:
        """Row of a domain by id."""
        return {domain: row for row, domain in enumerate(self.domains)}

    @cached_property
    def gpu_slope(self) -> Floats:
        """Wall watts per board watt (G,) of the node that each board is in."""
        return self.overhead_slope[self.gpu_node]

    @cached_property
    def gpu_fallback_w(self) -> Floats:
        """Where the rules let the dead-man take each board (G,), its range aside."""
        return self.fallback_w[self.gpu_node]

    @cached_property
    def fallbacks_w(self) -> Floats:
        """Where the rules let the dead-man take each board (G,), inside its range."""
        return np.clip(self.gpu_fallback_w, self.min_w, self.max_w)

    @cached_property
    def ramp_w_per_s(self) -> Floats:
        """The fastest (D,) that limits below may open, wall watts; infinite where the rules say none."""
        ramps = [domain.ramp_w_per_s for domain in self.domain_records]
        return _floats([np.inf if ramp is None else ramp for ramp in ramps])

    @cached_property
    def undeclared(self) -> Bools:
        """Domains (D,) with a node below that cannot be counted."""
        return self.weights.any_node(self.unknown)

    @cached_property
    def _slices(self) -> list[slice]:
        return [slice(begin, end) for begin, end in pairwise(self.first_gpu.tolist())]

    def gpus_of(self, node: int) -> slice:
        """Boards of one node."""
        return self._slices[node]

    def node_watts(self, gpu_w: Floats) -> Floats:
        """Wall watts per node (N,) of board watts (G,), boards never reported at their declared maximum."""
        board_w = np.bincount(self.gpu_node, weights=gpu_w, minlength=len(self.nodes)) + self.unheard_w
        return self.overhead_w + self.overhead_slope * board_w

    def wall_w(self, gpu_w: Floats) -> Floats:
        """Wall watts per domain (D,) with every feed working: what a meter there shows, less fixed load."""
        return self.weights.normal(self.node_watts(gpu_w))

    def worst_wall_w(self, gpu_w: Floats) -> Floats:
        """Wall watts per domain (D,) in the worst loss of one feed: what hard limits are held against."""
        return self.weights.worst(self.node_watts(gpu_w))

    def slope_w(self, gpu_w: Floats) -> Floats:
        """Wall watts per domain (D,) that board watts (G,) alone bring, in the worst loss of one feed."""
        board_w = np.bincount(self.gpu_node, weights=gpu_w, minlength=len(self.nodes))
        return self.weights.worst(self.overhead_slope * board_w)

    def nodes_in(self, other: "Fleet") -> Ints:
        """(N,) where each of our nodes stands in another fleet, -1: nowhere."""
        index = other.node_index
        return np.array([index.get(name, -1) for name in self.nodes], dtype=np.int64)

    def gpus_in(self, other: "Fleet") -> Ints:
        """(G,) where each of our boards stands in another fleet, on the same node; -1: nowhere."""
        index = other.gpu_index
        rows = np.array([index.get(uuid, -1) for uuid in self.gpus], dtype=np.int64)
        there = rows >= 0
        there[there] = self.nodes_in(other)[self.gpu_node[there]] == other.gpu_node[rows[there]]
        return np.where(there, rows, -1)

    def domain_nodes(self, domain: int) -> Ints:
        """Rows of every node below a domain."""
        return self.weights.nodes_below(domain)

    def domain_gpus(self, domain: int) -> Ints:
        """Rows of every board below a domain."""
        return np.flatnonzero(np.isin(self.gpu_node, self.domain_nodes(domain)))

    @cached_property
    def node_ancestors(self) -> Ints:
        """(N, deepest) rows of every domain above a node, nearest first, -1 where there is none left."""
        return self.weights.ancestors(len(self.nodes))

    def ancestors(self, node: int) -> Ints:
        """Rows of every domain above a node, nearest first."""
        above = self.node_ancestors[node]
        found: Ints = above[above >= 0]
        return found


def build(rules: Rules, boards: Iterable[Board], lost: Iterable[str] = ()) -> Fleet:
    """Arrays of the rules and of the boards heard so far; boards of unknown nodes are left out.

    `lost`: domains known to be dark now; what they carried then weighs on the other feed. Raises `BadTree`
    on a parent that is not there or a cycle.
    """
    order = _parents_first(rules)
    row = {domain.id: i for i, domain in enumerate(order)}
    parents = tuple(tuple(row[p] for p in _above(domain)) for domain in order)
    node_domain = np.array([row[node.domain] for node in rules.nodes], dtype=np.int64)
    known = {node.id: i for i, node in enumerate(rules.nodes)}
    mine = sorted((board for board in boards if board.node in known), key=lambda board: known[board.node])
    gpu_node = np.array([known[board.node] for board in mine], dtype=np.int64)
    heard = np.bincount(gpu_node, minlength=len(rules.nodes))
    classes = [rules.classes[node.node_class] for node in rules.nodes]
    mesh = weights(parents, node_domain, frozenset(row[d] for d in lost if d in row))
    own_fixed_w = _floats([domain.fixed_w for domain in order])
    return Fleet(
        gpus=tuple(board.uuid for board in mine),
        nodes=tuple(node.id for node in rules.nodes),
        domains=tuple(domain.id for domain in order),
        gpu_node=gpu_node,
        min_w=_floats([board.min_w for board in mine]),
        max_w=_floats([board.max_w for board in mine]),
        settable=np.array([board.settable for board in mine], dtype=np.bool_),
        first_gpu=np.concatenate([[0], np.cumsum(heard)]).astype(np.int64),
        node_domain=node_domain,
        node_class=tuple(node.node_class for node in rules.nodes),
        overhead_w=_floats([c.overhead_w for c in classes]),
        overhead_slope=_floats([c.overhead_slope for c in classes]),
        fallback_w=_floats([node.fallback_w_per_gpu for node in rules.nodes]),
        boot_guard=np.array([node.boot_guard for node in rules.nodes], dtype=np.bool_),
        unheard=_unheard(classes, heard),
        class_min_w=_floats([c.gpu_min_w or 0.0 for c in classes]),
        unheard_w=_unheard(classes, heard) * _floats([c.gpu_max_w or 0.0 for c in classes]),
        unknown=_unknown(rules.nodes, classes, heard),
        domain_records=tuple(order),
        parents=parents,
        hard_w=_floats([domain.hard_w for domain in order]),
        aim_w=_floats([domain.aim_w for domain in order]),
        smallest_hard_w=_floats([domain.smallest_hard_w for domain in order]),
        margin_w=rules.margin_w,
        fixed_w=mesh.normal_above(own_fixed_w),
        worst_fixed_w=mesh.worst_above(own_fixed_w),
        weights=mesh,
    )


def _above(domain: Domain) -> tuple[str, ...]:
    if domain.feeds is not None:
        return (domain.feeds.A, domain.feeds.B)
    return () if domain.parent is None else (domain.parent,)


def _parents_first(rules: Rules) -> list[Domain]:
    left = {domain.id: domain for domain in rules.domains}
    order: list[Domain] = []
    placed: set[str] = set()
    while left:
        ready = [d for d in left.values() if all(p in placed for p in _above(d))]
        if not ready:
            raise BadTree(rules.id, [f"{d}: its parents never end at a root" for d in left])
        order += ready
        placed.update(d.id for d in ready)
        for domain in ready:
            del left[domain.id]
    return order


def _unheard(classes: Sequence[NodeClass], heard: Ints) -> Floats:
    """Boards that the class declares and nobody has reported: they count, since unknown is never zero."""
    declared = np.array([c.gpu_count or 0 for c in classes], dtype=np.int64)
    left: Floats = np.maximum(0, declared - heard).astype(np.float64)
    return left


def _unknown(nodes: Sequence[Node], classes: Sequence[NodeClass], heard: Ints) -> Bools:
    return np.array(
        [
            count == 0 and (c.gpu_count is None or (c.gpu_count > 0 and c.gpu_max_w is None))
            for _, c, count in zip(nodes, classes, heard, strict=True)
        ],
        dtype=np.bool_,
    )


def _floats(values: Sequence[float]) -> Floats:
    return np.array(values, dtype=np.float64)
