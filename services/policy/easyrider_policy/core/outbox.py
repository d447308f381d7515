"""Vectors sent and not answered yet, per node, and the highest that any of them could still bring about."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.fleet import Bools, Fleet, Floats
from easyrider_policy.core.silence import Key

NEVER_TAKEN = frozenset(
    {"stale_epoch", "stale_nonce", "wrong_tree", "wrong_region", "wrong_node", "wrong_boot", "bad_ttl"}
)
"""Refusals that hold for every other copy of the same message too."""


@dataclass(frozen=True, eq=False, slots=True)
class Vector:
    """One message to one node, watts of its boards; 0 where it says nil."""

    key: Key
    limit_w: Floats
    fallback_w: Floats
    copies: int = 1  # the same watts were sent before under an older key, and that one may have been taken

    @property
    def most_w(self) -> Floats:
        """The most of each board that it could bring about."""
        return np.maximum(self.limit_w, self.fallback_w)


class Outbox:
    """What is in flight to each node, oldest first."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.vectors: list[list[Vector]] = [[] for _ in fleet.nodes]
        self.highest_w: Floats = np.zeros(len(fleet.gpus))  # (G,) limits and fallbacks in flight
        self.in_flight: Bools = np.zeros(len(fleet.nodes), dtype=np.bool_)
        self._newest_w = np.zeros(
            (2, len(fleet.gpus))
        )  # limits and fallbacks of each node's newest vector in flight

    def sent(self, node: int, key: Key, limit_w: Floats, fallback_w: Floats) -> None:
        """A vector leaves for a node; NaN where it says nil."""
        every_w = np.zeros((2, len(self.fleet.gpus)))
        every_w[:, self.fleet.gpus_of(node)] = limit_w, fallback_w
        self.all_sent(np.array([node]), [key], *every_w)

    def all_sent(
        self, nodes: NDArray[np.int64], keys: Sequence[Key], limit_w: Floats, fallback_w: Floats
    ) -> None:
        """The same of several nodes, each once; watts of every board (G,), those of other nodes aside."""
        fleet = self.fleet
        sizes = fleet.first_gpu[nodes + 1] - fleet.first_gpu[nodes]
        begins = np.cumsum(sizes) - sizes
        boards = np.arange(int(sizes.sum())) + np.repeat(fleet.first_gpu[nodes] - begins, sizes)
        watts = np.fmax([limit_w[boards], fallback_w[boards]], 0.0)
        place = np.repeat(np.arange(len(nodes)), sizes)
        moved = (watts != self._newest_w[:, boards]).any(axis=0)
        other = np.bincount(place[moved], minlength=len(nodes)) > 0
        again = self.in_flight[nodes] & ~other
        for node, key, same, begin, size in zip(
            nodes.tolist(), keys, again.tolist(), begins.tolist(), sizes.tolist(), strict=True
        ):
            if same:
                last = self.vectors[node][-1]
                self.vectors[node][-1] = Vector(key, last.limit_w, last.fallback_w, last.copies + 1)
            else:
                mine = watts[:, begin : begin + size]
                self.vectors[node].append(Vector(key, mine[0], mine[1]))
        self._newest_w[:, boards] = watts
        self.highest_w[boards] = np.maximum(self.highest_w[boards], watts.max(axis=0))
        self.in_flight[nodes] = True

    def answered(self, node: int, key: Key) -> Floats:
        """Drop everything sent up to `key`; the highest limit or fallback of each board that was among it."""
        waiting = self.vectors[node]
        if len(waiting) == 1 and waiting[0].key <= key:  # as nearly always
            self.vectors[node] = []
            self.highest_w[self.fleet.gpus_of(node)], self.in_flight[node] = 0.0, False
            return waiting[0].most_w
        done = [vector for vector in waiting if vector.key <= key]
        self._keep(node, [vector for vector in self.vectors[node] if vector.key > key])
        return self._highest(node, done)

    def refused(self, node: int, key: Key, reason: str | None, highest: Key) -> None:
        """Drop a vector that this node cannot have taken.

        `stale_seq` proves nothing: a second copy is refused so when the first was taken and its ack was lost.
        Nor does a refusal by a node that has already taken this key or a later one.
        """
        if reason in NEVER_TAKEN and highest < key:
            waiting = self.vectors[node]
            self._keep(node, [vector for vector in waiting if vector.key != key or vector.copies > 1])

    def moved_to(self, fleet: Fleet, old_rows: NDArray[np.int64]) -> "Outbox":
        """The same on another fleet; `old_rows` (G,) says where each of its boards stood, -1: nowhere."""
        moved = Outbox(fleet)
        for node, name in enumerate(fleet.nodes):
            before = self.fleet.node_index.get(name)
            if before is None or not self.vectors[before]:
                continue
            rows = old_rows[fleet.gpus_of(node)]
            place = np.where(rows >= 0, rows - self.fleet.first_gpu[before], 0)
            for vector in self.vectors[before]:
                limit_w = np.where(rows >= 0, vector.limit_w[place], 0.0)
                fallback_w = np.where(rows >= 0, vector.fallback_w[place], 0.0)
                moved.vectors[node].append(Vector(vector.key, limit_w, fallback_w, vector.copies))
            moved._keep(node, moved.vectors[node])
        return moved

    def _keep(self, node: int, vectors: list[Vector]) -> None:
        self.vectors[node] = vectors
        self.highest_w[self.fleet.gpus_of(node)] = self._highest(node, vectors)
        self.in_flight[node] = bool(vectors)
        if vectors:
            self._newest_w[:, self.fleet.gpus_of(node)] = vectors[-1].limit_w, vectors[-1].fallback_w

    def _highest(self, node: int, vectors: list[Vector]) -> Floats:
        boards = self.fleet.gpus_of(node)
        highest_w = np.zeros(boards.stop - boards.start)
        for vector in vectors:
            np.maximum(highest_w, vector.most_w, out=highest_w)
        return highest_w
