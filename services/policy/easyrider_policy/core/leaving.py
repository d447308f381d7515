"""Boards that are given back: their baseline is booked in the sums before anybody lets it be restored.

A node that stops asks for all its boards; boards that leave `pilot` or `enforce` are asked for by us. Each waits
until the verified room carries its baseline, is booked, and gets one `ExitGrant`. Bookings add up and stay until
the boards are back under limits of ours or the operator releases them.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from easyrider.messages import ExitGrant, Leaving, LimitAck, NodeState
from easyrider_policy.core.counting import Sums
from easyrider_policy.core.fleet import Bools, Fleet, Floats
from easyrider_policy.core.ledger import Ledger
from easyrider_policy.core.silence import Key

Ints = NDArray[np.int64]

WAIT_S = 3.0
"""A node waits so long for its grant, then leaves with min(present, fallback)."""
AGAIN_S = 0.5
"""A node that still asks so long after its grant has lost it and is told again; what it said before is answered."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Request:
    """Boards of one node that want their baseline back."""

    rows: Ints
    baseline_w: Floats
    nonce: int
    asked_s: float
    whole: bool  # the node itself stops; else we part with some of its boards


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Granted:
    """Boards that were let go, the first grant and the last."""

    rows: Ints
    first: Key
    last: Key
    granted_s: float
    whole: bool
    back: bool = False


class Leavings:
    """Who waits for leave and who has it, by node row."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.waiting: dict[int, Request] = {}
        self.granted: dict[int, Granted] = {}
        self._answered_s: dict[int, float] = {}  # wishes of a node minted before are granted or given up

    def asked(self, message: Leaving, minted_s: float) -> None:
        """A node stops and asks; it repeats itself, with a newer nonce, until it is granted or gives up."""
        node = self.fleet.node_index.get(message.node)
        if node is None or minted_s < self._answered_s.get(node, -np.inf):
            return
        mine = [board for board in message.gpus if self._row(node, board.uuid) is not None]
        rows = np.array([self.fleet.gpu_index[board.uuid] for board in mine], dtype=np.int64)
        self.waiting[node] = Request(
            rows=rows,
            baseline_w=np.array([board.baseline_w for board in mine], dtype=np.float64),
            nonce=message.nonce,
            asked_s=minted_s,
            whole=True,
        )
        before = self.granted.get(node)
        if before is not None and before.back:
            del self.granted[node]

    def parted(self, node: int, rows: Ints, baseline_w: Floats, nonce: int, now_s: float) -> None:
        """Boards of a node are in `pilot` or `enforce` no more: ask for them. NaN: baseline unknown."""
        held = self.waiting.get(node)
        if held is not None and held.whole:
            return
        known_w = np.where(np.isnan(baseline_w), self.fleet.max_w[rows], baseline_w)
        self.waiting[node] = Request(rows=rows, baseline_w=known_w, nonce=nonce, asked_s=now_s, whole=False)

    def parting(self) -> set[int]:
        """Nodes with boards that we want to part with."""
        return {node for node, held in self.waiting.items() if not held.whole}

    def stayed(self, node: int) -> None:
        """The boards we wanted to part with are wanted again before they were granted."""
        held = self.waiting.get(node)
        if held is not None and not held.whole:
            del self.waiting[node]

    def state_heard(self, state: NodeState, minted_s: float) -> None:
        """A node that was let go and lives again, not leaving, may be commanded again."""
        node = self.fleet.node_index.get(state.node)
        if node is None or state.leaving:
            return
        self._answered_s[node] = max(minted_s, self._answered_s.get(node, -np.inf))
        held = self.waiting.get(node)
        if held is not None and held.whole and minted_s > held.asked_s:
            del self.waiting[node]  # it gave up, or has all it wanted
        granted = self.granted.get(node)
        if granted is None or minted_s <= granted.granted_s:
            return
        took = Key(state.highest_epoch, state.highest_seq) >= granted.first
        if took or minted_s > granted.granted_s + WAIT_S:
            self.granted[node] = replace(granted, back=True)

    def quiet(self, node: int) -> bool:
        """Whether this node neither waits for leave nor has it."""
        return node not in self.waiting and node not in self.granted

    def present(self, nodes: Ints, minted_s: Floats) -> None:
        """States of nodes that do not leave, neither wait for leave nor have it."""
        answered_s = self._answered_s
        for node, now_s in zip(nodes.tolist(), minted_s.tolist(), strict=True):
            answered_s[node] = max(now_s, answered_s.get(node, -np.inf))

    def acked(self, ack: LimitAck, ledger: Ledger) -> None:
        """Boards let go are no longer ours; boards back under a newer vector of ours end their booking."""
        node = self.fleet.node_index.get(ack.node)
        granted = None if node is None else self.granted.get(node)
        if node is None or granted is None or not ack.accepted:
            return
        key = Key(ack.epoch, ack.seq)
        if ack.answers == "exit_grant" and granted.first <= key:
            ledger.told[granted.rows] = False
        elif ack.answers == "set_limits" and key > granted.last:
            home = granted.rows[ledger.told[granted.rows]]
            ledger.released(home)
            away = np.setdiff1d(granted.rows, home)
            if len(away):
                self.granted[node] = replace(granted, rows=away)
            else:
                del self.granted[node]

    def released(self, node: int, ledger: Ledger) -> None:
        """The operator answers for a node that will not come back."""
        granted = self.granted.pop(node, None)
        self.waiting.pop(node, None)
        if granted is not None:
            ledger.released(granted.rows)

    def reserved_w(self, now_s: float) -> Floats:
        """(G,) baselines that wait for room: the planner lowers others for them."""
        reserved = np.zeros(len(self.fleet.gpus))
        for request in self._asking(now_s).values():
            reserved[request.rows] = request.baseline_w
        return reserved

    def gone(self, managed: Bools) -> Bools:
        """(G,) boards that were let go: nil in every vector, until their node is back or they are managed again."""
        gone = np.zeros(len(self.fleet.gpus), dtype=np.bool_)
        for granted in self.granted.values():
            gone[granted.rows] = not granted.back if granted.whole else ~managed[granted.rows]
        return gone

    def away(self) -> Bools:
        """(N,) nodes that left: they get no command until they return."""
        away = np.zeros(len(self.fleet.nodes), dtype=np.bool_)
        for node, granted in self.granted.items():
            away[node] = granted.whole and not granted.back
        return away

    def asking(self, now_s: float) -> Bools:
        """(N,) nodes with boards that wait for leave: nothing of theirs is raised."""
        asking = np.zeros(len(self.fleet.nodes), dtype=np.bool_)
        asking[list(self._asking(now_s))] = True
        return asking

    def needs_w(self, now_s: float, ledger: Ledger, counted_w: Floats) -> Floats:
        """(D,) wall watts that baselines still wait for: room that no raise may take before them."""
        asking = self._asking(now_s)
        if not asking:
            return np.zeros(len(self.fleet.domains))
        extra_w = np.zeros(len(self.fleet.gpus))
        for node, request in asking.items():
            if not self._booked(node):
                extra_w += self._extra(request, ledger, counted_w)
        return self.fleet.slope_w(extra_w)

    def affordable(
        self, now_s: float, able: Bools, ledger: Ledger, counted_w: Floats, sums: Sums
    ) -> dict[int, Request]:
        """Requests whose baselines fit the verified room together, oldest first; they are booked here.

        `able` (N,): nodes that may be commanded.
        """
        fitting: dict[int, Request] = {}
        room_w = sums.room_w.copy()
        for node, request in sorted(self._asking(now_s).items(), key=lambda item: item[1].asked_s):
            if not able[node]:
                continue
            if self._booked(node):
                fitting[node] = request  # its grant was lost, or it would not ask again
                continue
            need_w = self.fleet.slope_w(self._extra(request, ledger, counted_w))
            above = self.fleet.ancestors(node)
            if any(int(domain) in sums.blocked for domain in above) or (need_w > room_w)[need_w > 0].any():
                continue
            room_w -= need_w
            ledger.booked(request.rows, request.baseline_w)
            fitting[node] = request
        return fitting

    def let_go(self, node: int, request: Request, key: Key, now_s: float) -> None:
        """The grant of a booked request leaves under this key."""
        before = self.granted.get(node)
        rows = request.rows if before is None else np.union1d(before.rows, request.rows)
        first = key if before is None else before.first
        self.granted[node] = Granted(
            rows=rows, first=first, last=key, granted_s=now_s, whole=request.whole, back=False
        )
        self.waiting.pop(node, None)
        if request.whole:
            self._answered_s[node] = now_s + AGAIN_S

    def grant(self, node: int, request: Request, key: Key, tree: str, region: str, ttl_s: float) -> ExitGrant:
        """The message."""
        return ExitGrant(
            tree=tree,
            region=region,
            node=self.fleet.nodes[node],
            epoch=key.epoch,
            seq=key.seq,
            nonce=request.nonce,
            ttl_s=ttl_s,
            gpus=() if request.whole else tuple(self.fleet.gpus[int(row)] for row in request.rows),
        )

    def moved_to(self, fleet: Fleet) -> "Leavings":
        """The same on another fleet; boards go by UUID, nodes by id."""
        moved = Leavings(fleet)
        for node, held in self.waiting.items():
            if (to := fleet.node_index.get(self.fleet.nodes[node])) is not None:
                kept, rows = self._rows_on(fleet, held.rows)
                moved.waiting[to] = replace(held, rows=rows, baseline_w=held.baseline_w[kept])
        for node, granted in self.granted.items():
            if (to := fleet.node_index.get(self.fleet.nodes[node])) is not None:
                moved.granted[to] = replace(granted, rows=self._rows_on(fleet, granted.rows)[1])
        for node, answered_s in self._answered_s.items():
            if (to := fleet.node_index.get(self.fleet.nodes[node])) is not None:
                moved._answered_s[to] = answered_s
        return moved

    def _rows_on(self, fleet: Fleet, rows: Ints) -> tuple[Bools, Ints]:
        to = np.array([fleet.gpu_index.get(self.fleet.gpus[int(row)], -1) for row in rows], dtype=np.int64)
        return to >= 0, to[to >= 0]

    def _booked(self, node: int) -> bool:
        granted = self.granted.get(node)
        return granted is not None and granted.whole

    def _extra(self, request: Request, ledger: Ledger, counted_w: Floats) -> Floats:
        extra_w = np.zeros(len(self.fleet.gpus))
        wanted_w = request.baseline_w * ledger.overshoot[request.rows]
        extra_w[request.rows] = np.maximum(0.0, wanted_w - counted_w[request.rows])
        return extra_w

    def _asking(self, now_s: float) -> dict[int, Request]:
        return {
            node: request
            for node, request in self.waiting.items()
            if not request.whole or now_s - request.asked_s <= WAIT_S
        }

    def _row(self, node: int, uuid: str) -> int | None:
        row = self.fleet.gpu_index.get(uuid)
        return row if row is not None and self.fleet.gpu_node[row] == node else None
