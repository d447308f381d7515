"""From wanted limits to the messages that may leave now: lowers at once, raises only into verified room.

Every node gets a grant each second. One that has not acked the present leader gets a `Hold`; after its ack it
gets vectors built from that ack, none of whose entries stands above it until raises are allowed. What a vector
could bring about is booked in the ledger before the message is returned.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider.messages import ExitGrant, GpuLimit, Hold, SetLimits
from easyrider.tree import Leases
from easyrider_policy.core import leader, steps
from easyrider_policy.core.counting import Sums
from easyrider_policy.core.fleet import Bools, Fleet, Floats
from easyrider_policy.core.holds import Held
from easyrider_policy.core.leader import Lead
from easyrider_policy.core.leaving import Leavings
from easyrider_policy.core.ledger import Ledger
from easyrider_policy.core.silence import Key
from easyrider_policy.core.steps import Asked, Step
from easyrider_policy.core.vectors import Vectors
from easyrider_policy.core.waiting import NOBODY, Waits, waiting

SPREAD_FROM = 100
"""On a site of more nodes grants take turns: all at once they would keep whatever is urgent waiting."""
Ints = NDArray[np.int64]
Command = SetLimits | Hold | ExitGrant


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Wanted:
    """What the planner wants of each board (G,).

    `limit_w` NaN: no wish, hold. `managed`: in `pilot` or `enforce`; a board that we limit and that is not
    managed any more is asked to leave. `job`: row of its job, -1 idle; boards of a job rise together.
    """

    limit_w: Floats
    managed: Bools
    job: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What leaves now, in order. `lowers` and `raises` count boards."""

    messages: tuple[Command, ...] = ()
    lowers: int = 0
    raises: int = 0
    waiting: Waits = NOBODY


class Commands:
    """What was last asked of each board under the present epoch, and when each node had its last grant."""

    def __init__(self, fleet: Fleet, leases: Leases, tree: str, region: str) -> None:
        self.fleet, self.leases, self.tree, self.region = fleet, leases, tree, region
        self.seq = 0
        self.epoch = -1
        unknown_w = np.full(len(fleet.gpus), np.nan)
        self.held = Asked(limit_w=unknown_w, fallback_w=unknown_w)
        self.based: Bools = np.zeros(
            len(fleet.nodes), dtype=np.bool_
        )  # `held` stands on an ack of this epoch
        self.granted_s: Floats = np.full(len(fleet.nodes), -np.inf)
        self._vectors = Vectors(fleet)
        count = len(fleet.nodes)
        self._turn_s = leases.grant_every_s * np.arange(count) / count if count > SPREAD_FROM else None

    def compose(
        self,
        now_s: float,
        lead: Lead,
        ledger: Ledger,
        sums: Sums,
        leavings: Leavings,
        wanted: Wanted,
        limit_dropped: bool = False,
        holds: Held | None = None,
    ) -> Orders:
        """Messages for this moment, booked. `sums` are those of `ledger.counted_w(now_s)`, now.

        `limit_dropped`: a hard limit fell since the last call, so every node with a vector in flight gets a
        newer one, changed or not, behind which no old raise can land. `holds`: boards that may not rise; a raise
        of theirs that is under way and not acked is taken back.
        """
        if not leader.may_publish(lead, self.leases, now_s):
            return Orders()
        fleet, roll = self.fleet, ledger.roll
        self._rebase(lead, ledger)
        self._part(now_s, ledger, leavings, wanted)
        holding = not leader.raises_allowed(lead, self.leases, now_s)
        counted_w, quiet, gone = sums.board_w, roll.quiet(now_s), leavings.gone(wanted.managed)
        near = now_s - roll.nonce_s < self.leases.ttl_s
        reach = near & ~leavings.away()
        able = reach & self.based
        free = able & ~quiet & ~leavings.asking(now_s) & (not holding)
        ours = wanted.managed & fleet.settable & ~gone
        base = self.held.within(counted_w, ledger.overshoot)
        if holds is not None and holds.any:
            base = base.no_higher(holds, ledger.requested_w, ledger.fallback_w)
        step = Step(
            base=base,
            target=steps.targets(fleet, wanted.limit_w, ours & ~np.isnan(wanted.limit_w), base),
            ours=ours,
            counted_w=counted_w,
            overshoot=ledger.overshoot,
            group=steps.groups(wanted.job),
            node=fleet.gpu_node,
            holds=holds,
            able=able,
            free=free,
        )
        room_w = sums.room_w - leavings.needs_w(now_s, ledger, counted_w)
        admitted = steps.shares(fleet, step, sums, room_w)
        asked = steps.taken(fleet, step, self.held, admitted.share)
        left = waiting(fleet, step, sums, admitted, asked, quiet, holding)
        before, self.held = self.held, asked
        changed = (asked.limit_w != before.limit_w) | (asked.fallback_w != before.fallback_w)
        urgent = np.bincount(fleet.gpu_node[changed], minlength=len(fleet.nodes)) > 0
        if limit_dropped:
            urgent |= ledger.outbox.in_flight
        in_vector = (ours | ledger.told) & ~gone
        granted = np.flatnonzero(reach & (self._due(now_s) | (urgent & self.based)))
        falls = np.bincount(
            fleet.gpu_node[changed & ~(asked.limit_w >= before.limit_w)], minlength=len(reach)
        )
        granted = granted[np.argsort(falls[granted] == 0, kind="stable")]  # of many what falls leaves first
        messages: list[Command] = self._grants(granted, ledger, in_vector)
        self.granted_s[granted] = now_s
        if not holding:
            # A node that was let go gets no command, but its grant again if it was lost on the way.
            able = near & self.based & ~quiet
            if holds is not None and holds.any:
                able &= ~holds.nodes(fleet)  # a restore is a raise
            messages += self._exits(now_s, able, ledger, counted_w, sums, leavings)
        return Orders(
            messages=tuple(messages),
            lowers=int(np.count_nonzero(asked.limit_w < before.limit_w)),
            raises=int(np.count_nonzero(asked.limit_w > before.limit_w)),
            waiting=left,
        )

    def lowered(
        self,
        now_s: float,
        lead: Lead,
        ledger: Ledger,
        leavings: Leavings,
        wanted: Wanted,
        holds: Held | None = None,
    ) -> Orders:
        """Vectors for the nodes of which a board is wanted lower than was asked, booked; nothing in them rises.

        For what cannot wait for `compose`: its sums, its raises and the grants that are due are left to it.
        """
        if not leader.may_publish(lead, self.leases, now_s):
            return Orders()
        fleet = self.fleet
        self._rebase(lead, ledger)
        gone = leavings.gone(wanted.managed)
        taken = wanted.managed & fleet.settable & ~gone
        near = now_s - ledger.roll.nonce_s < self.leases.ttl_s
        ours = taken & (near & ~leavings.away() & self.based)[fleet.gpu_node]
        base = self.held.within(ledger.counted_w(now_s), ledger.overshoot)
        if holds is not None and holds.any:
            base = base.no_higher(holds, ledger.requested_w, ledger.fallback_w)
        wish = steps.targets(fleet, wanted.limit_w, ours & ~np.isnan(wanted.limit_w), base)
        falls = ours & (wish.limit_w < base.limit_w)
        nodes = np.bincount(fleet.gpu_node[falls], minlength=len(fleet.nodes)) > 0
        rows = ours & nodes[fleet.gpu_node]
        self.held = Asked(
            limit_w=np.where(rows, np.fmin(base.limit_w, wish.limit_w), self.held.limit_w),
            fallback_w=np.where(rows, base.fallback_w, self.held.fallback_w),
        )
        granted = np.flatnonzero(nodes)
        messages = self._grants(granted, ledger, taken | (ledger.told & ~gone))
        self.granted_s[granted] = now_s
        return Orders(messages=tuple(messages), lowers=int(np.count_nonzero(falls)))

    def moved_to(self, fleet: Fleet) -> "Commands":
        """The same leadership on another fleet: what is held is taken anew from the acks the ledger keeps."""
        moved = Commands(fleet, self.leases, self.tree, self.region)
        moved.seq, moved.epoch = self.seq, self.epoch
        for node, name in enumerate(fleet.nodes):
            before = self.fleet.node_index.get(name)
            if before is not None:
                moved.granted_s[node] = self.granted_s[before]
        return moved

    def _rebase(self, lead: Lead, ledger: Ledger) -> None:
        """Take what each node acked under this epoch as what is held there; forget what was held before."""
        if lead.epoch != self.epoch:
            self.epoch = lead.epoch
            self.based[:] = False
            self.granted_s[:] = -np.inf
        acked = ledger.fence == lead.epoch
        self.based &= acked
        fresh = acked & ~self.based
        if not fresh.any():
            return
        rows = fresh[self.fleet.gpu_node]
        # A board nobody could read is held at its minimum: whatever it has, this is no raise.
        known_w = np.where(np.isnan(ledger.requested_w), self.fleet.min_w, ledger.requested_w)
        lowest_w = np.minimum(self.fleet.fallbacks_w, known_w)
        fallback_w = np.where(np.isnan(ledger.fallback_w), lowest_w, ledger.fallback_w)
        self.held = Asked(
            limit_w=np.where(rows, known_w, self.held.limit_w),
            fallback_w=np.where(rows, fallback_w, self.held.fallback_w),
        )
        self.based |= fresh

    def _part(self, now_s: float, ledger: Ledger, leavings: Leavings, wanted: Wanted) -> None:
        """Boards that we limit and should not any more are asked to leave, as a node that stops asks."""
        parting = ledger.told & ~wanted.managed & ~leavings.gone(wanted.managed)
        nodes = set(self.fleet.gpu_node[parting].tolist())
        for node in leavings.parting() - nodes:
            leavings.stayed(node)
        for node in sorted(nodes):
            rows = np.flatnonzero(parting & (self.fleet.gpu_node == node))
            leavings.parted(node, rows, ledger.baseline_w[rows], int(ledger.roll.nonce[node]), now_s)

    def _due(self, now_s: float) -> Bools:
        """(N,) nodes whose grant is due: a period after the last one, of a large site before that where it is their
        turn, so that grants spread over the period."""
        every_s = self.leases.grant_every_s
        due: Bools = now_s - self.granted_s >= every_s - 1e-6
        if self._turn_s is not None:
            turns = np.floor((now_s - self._turn_s) / every_s)
            due |= turns > np.floor((self.granted_s - self._turn_s) / every_s)
        return due

    def _grants(self, nodes: Ints, ledger: Ledger, in_vector: Bools) -> list[Command]:
        """A grant for each of these nodes, booked: a vector where we hold boards of it, else a hold."""
        fleet, region, tree, ttl_s = self.fleet, self.region, self.tree, self.leases.ttl_s
        if not len(nodes):
            return []
        limit_w = np.where(in_vector, self.held.limit_w, np.nan)
        fallback_w = np.where(in_vector, self.held.fallback_w, np.nan)
        with_boards = self.based & (np.bincount(fleet.gpu_node[in_vector], minlength=len(fleet.nodes)) > 0)
        holds = ~with_boards[nodes]
        said = self._vectors.said(nodes[~holds], in_vector, limit_w, fallback_w)
        keys = [self._next() for _ in nodes]
        messages: list[Command] = []
        for node, key, nonce, hold in zip(
            nodes.tolist(), keys, ledger.roll.nonce[nodes].tolist(), holds.tolist(), strict=True
        ):
            head = (tree, region, fleet.nodes[node], key.epoch, key.seq, nonce, ttl_s)
            messages.append(_hold(*head) if hold else _set_limits(*head, said[node]))
        told = [key for key, hold in zip(keys, holds.tolist(), strict=True) if not hold]
        ledger.outbox.all_sent(nodes[~holds], told, limit_w, fallback_w)
        return messages

    def _exits(
        self, now_s: float, able: Bools, ledger: Ledger, counted_w: Floats, sums: Sums, leavings: Leavings
    ) -> list[Command]:
        """Exit grants are raises, into room that the raises of this moment have left alone."""
        grants: list[Command] = []
        for node, request in leavings.affordable(now_s, able, ledger, counted_w, sums).items():
            key = self._next()
            grants.append(leavings.grant(node, request, key, self.tree, self.region, self.leases.ttl_s))
            leavings.let_go(node, request, key, now_s)
        return grants

    def _next(self) -> Key:
        self.seq += 1
        return Key(self.epoch, self.seq)


def _hold(tree: str, region: str, node: str, epoch: int, seq: int, nonce: int, ttl_s: float) -> Hold:
    return Hold(tree=tree, region=region, node=node, epoch=epoch, seq=seq, nonce=nonce, ttl_s=ttl_s)


def _set_limits(
    tree: str,
    region: str,
    node: str,
    epoch: int,
    seq: int,
    nonce: int,
    ttl_s: float,
    limits: tuple[GpuLimit, ...],
) -> SetLimits:
    return SetLimits(
        tree=tree, region=region, node=node, epoch=epoch, seq=seq, nonce=nonce, ttl_s=ttl_s, limits=limits
    )
