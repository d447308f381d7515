"""What every board could still be enforcing, in board watts, from what was sent, acked and seen.

A board counts the highest of: requested and enforced of its newest ack, every newer limit and fallback sent and
not provably refused, the fallback in force, and whatever any frame or state has shown since that ack; times 1.03,
what a limit that binds may be overdrawn by: no card's own sensor proves less (shared/decisions/0030). Only an ack
of the present boot with an (epoch, seq) above every ack before lowers a count: it replaces everything sent up to
it and nothing sent after it. Everything else can only raise.

It counts device maximum: a board never armed or of a node never heard on its present boot, one that takes no
limit, one not read for over 20 s, a node silent for over 20 s without `boot_guard`, and a node of which the
present leader does not know what the one before it sent.

Methods are transitions: each takes one thing that happened and when, reads no clock, and changes this object
only; `counted_w` and `planned_w` derive. Arrays have shape (G,) boards or (N,) nodes, in the fleet's order.
"""

import numpy as np
from numpy.typing import NDArray

from easyrider.messages import LimitAck, NodeState
from easyrider.tree import Leases
from easyrider_policy.core.fleet import Bools, Fleet, Floats
from easyrider_policy.core.looks import Looks
from easyrider_policy.core.outbox import Outbox
from easyrider_policy.core.overshoot import MOST
from easyrider_policy.core.said import AckedBoards, ShownBoards, acked_boards, shown_boards
from easyrider_policy.core.seen import nothing
from easyrider_policy.core.silence import HEARTBEAT_S, NOTHING, QUIET_S, TRUST_S, Key, Roll

Stamps = int | NDArray[np.int64]
Seconds = float | Floats
PER_BOARD = (
    *("acked_w", "requested_w", "fallback_w", "seen_w", "seen_ns", "since_w", "since_ns", "said_w", "told"),
    *("stuck", "read_s", "overshoot", "booked_w", "baseline_w"),
)
PER_NODE = ("acked_ns", "fence", "proven", "rebooted", "dark")


class Ledger:
    """Worst-case watts per board. `fleet` is fixed; `moved_to` carries everything to another one."""

    def __init__(self, fleet: Fleet, leases: Leases) -> None:
        boards, nodes = len(fleet.gpus), len(fleet.nodes)
        self.fleet, self.leases = fleet, leases
        self.roll = Roll(fleet)
        self.outbox = Outbox(fleet)
        self.acked_w: Floats = fleet.max_w.copy()  # max(requested, enforced) of the newest ack
        self.requested_w: Floats = np.full(boards, np.nan)  # of the newest ack
        self.fallback_w: Floats = np.full(boards, np.nan)  # in force at the newest ack
        self.seen = nothing(boards)  # shown since the newest ack
        self.seen_w, self.seen_ns, self.since_w, self.since_ns = self.seen
        self.said_w: Floats = np.full(boards, np.nan)  # what the newest state says, whoever leads
        self.baseline_w: Floats = np.full(boards, np.nan)  # found before the first write ever
        self.told: Bools = np.zeros(boards, dtype=np.bool_)  # armed, by the newest ack of this boot
        self.stuck: Bools = ~fleet.settable
        self.read_s: Floats = np.full(boards, -np.inf)
        self.overshoot: Floats = np.ones(boards)
        self.booked_w: Floats = np.zeros(boards)  # baselines of boards that leave or have left
        self.acked_key: list[Key] = [NOTHING] * nodes
        self.acked_ns: NDArray[np.int64] = np.full(nodes, -1, dtype=np.int64)
        self.fence: NDArray[np.int64] = np.full(nodes, -1, dtype=np.int64)  # highest epoch acked, this boot
        self.proven: Bools = np.zeros(nodes, dtype=np.bool_)  # shown after stage 2, without an ack
        self.rebooted: Bools = np.zeros(nodes, dtype=np.bool_)  # under our eyes, and no ack since
        self.dark: Bools = np.zeros(nodes, dtype=np.bool_)  # by the operator's word, until heard again
        self.lead_epoch = -1
        self.taken_s = -np.inf
        self.ack_boards: dict[int, AckedBoards] = {}  # what each node said last, and mostly says again
        self.shown_boards: dict[int, ShownBoards] = {}

    # What we do

    def took_over(self, epoch: int, now_s: float) -> None:
        """We lead with this epoch now: what the leader before sent last is unknown on every node."""
        self.lead_epoch, self.taken_s = epoch, now_s
        self.proven[:] = False

    def sent(self, node: int, key: Key, limit_w: Floats, fallback_w: Floats) -> None:
        """Book a vector of a node's boards, NaN where it says nil. Call it before the message leaves."""
        self.outbox.sent(node, key, limit_w, fallback_w)

    def booked(self, rows: NDArray[np.int64], baseline_w: Floats) -> None:
        """Count the baselines of boards that are about to be let go."""
        self.booked_w[rows] = np.maximum(self.booked_w[rows], baseline_w)

    def released(self, rows: NDArray[np.int64]) -> None:
        """Boards are back under a limit, or the operator answers for them: their bookings end."""
        self.booked_w[rows] = 0.0

    def learned(self, overshoot: Floats) -> None:
        """Draw over limit, per board, held within 1 to 1.03: `MOST` for boards of ours (shared/decisions/0030)."""
        self.overshoot = np.maximum(np.fmin(overshoot, MOST), 1.0)

    # What we hear

    def acked(self, ack: LimitAck, minted_s: float) -> bool:
        """Whether an ack replaced what was counted. One that is refused, old or repeated replaces nothing."""
        node = self.fleet.node_index.get(ack.node)
        if node is None or not self._of_this_boot(node, ack.boot_id, minted_s):
            return False
        self.roll.heard(node, minted_s)
        key = Key(ack.epoch, ack.seq)
        if not ack.accepted:
            self.outbox.refused(node, key, ack.refused, Key(ack.highest_epoch, ack.highest_seq))
            return False
        if key <= self.acked_key[node]:
            return False
        sent_w = self.outbox.answered(node, key)
        self.acked_key[node], self.fence[node] = key, max(self.fence[node], ack.epoch)
        self.rebooted[node] = False
        self.acked_ns[node] = max(self.acked_ns[node], ack.mono_ns)
        boards = self.ack_boards.get(node)
        if boards is None or boards.said != ack.gpus:
            boards = self.ack_boards[node] = acked_boards(self.fleet, node, ack.gpus)
        self.boards_acked(boards, ack.mono_ns, minted_s)
        if len(boards.unread):
            # Not read: what was sent up to here may be in force, and what was counted before may be too.
            lost = boards.unread
            before_w = np.fmax(np.maximum(self.acked_w[lost], self.seen_w[lost]), self.fallback_w[lost])
            self.acked_w[lost] = np.maximum(before_w, sent_w[lost - self.fleet.first_gpu[node]])
        return True

    def state_heard(self, state: NodeState, minted_s: float) -> None:
        """Note the nonce, and raise what the state shows above the count. A state older than the ack is left."""
        node = self.fleet.node_index.get(state.node)
        if node is None or not self._of_this_boot(node, state.boot_id, minted_s):
            return
        self.roll.heard(node, minted_s)
        self.roll.nonce_heard(node, state.nonce, minted_s)
        if state.mono_ns <= self.acked_ns[node]:
            return
        shown = self._proves(node, minted_s, stage=state.stage)
        boards = self.shown_boards.get(node)
        if boards is None or boards.said != state.gpus:
            boards = self.shown_boards[node] = shown_boards(self.fleet, node, state.gpus)
        self.boards_shown(boards, state.mono_ns, minted_s)
        if shown:
            for row, holds_w, fallback_w in boards.taken:
                self._taken_as_shown(row, holds_w, fallback_w)
        self.proven[node] |= shown

    def frame_heard(self, node: int, boot_id: str, enforced_w: Floats, read_ns: int, minted_s: float) -> None:
        """Raise what a frame's newest row shows above the count; NaN where a cell is not valid.

        `read_ns` is the source clock of that row; a row older than the ack is left.
        """
        if not self._of_this_boot(node, boot_id, minted_s):
            return
        boards = self.fleet.gpus_of(node)
        if boards.start == boards.stop and minted_s < self.proof_s():
            self.roll.heard(node, minted_s)  # it has no boards to show, and proves nothing yet
            return
        rows, limit_w = np.arange(boards.start, boards.stop)[None, :], enforced_w[None, :]
        at = np.array([read_ns]), np.array([minted_s])
        self.looks_heard(Looks(np.array([node]), rows, limit_w, limit_w, *at))

    def looks_heard(self, looks: Looks) -> None:
        """The same of several nodes at once."""
        self.dark[looks.nodes] = False
        self.roll.all_heard(looks.nodes, looks.minted_s)
        news = looks.read_ns > self.acked_ns[looks.nodes]
        nodes, rows, _, enforced_w, read_ns, minted_s = looks if news.all() else looks.some(news)
        valid = np.isfinite(enforced_w)
        self.read_s[rows] = np.maximum(self.read_s[rows], np.where(valid, minted_s[:, None], -np.inf))
        shown_ns = np.broadcast_to(read_ns[:, None], rows.shape)
        self.seen.show(rows[valid], enforced_w[valid], shown_ns[valid])
        for at in np.flatnonzero(self._proved(nodes, minted_s) & valid.all(axis=1)).tolist():
            fallback_w = float(self.fleet.fallback_w[nodes[at]])
            for row, watts in zip(rows[at].tolist(), enforced_w[at].tolist(), strict=True):
                self._taken_as_shown(row, watts, fallback_w)
            self.proven[nodes[at]] = True

    # What follows

    def counted_w(self, now_s: float) -> Floats:
        """(G,) watts that each board could still draw: what the room for raises is measured by."""
        unknown = self._unknown()
        return self._with_worst(self._told_w(), now_s, unknown)

    def planned_w(self, now_s: float) -> Floats:
        """(G,) the same for planning, but a take-over alone moves nothing.

        A node that has not acked the present leader counts what its newest state says, else its fallback: the
        leader before kept the sums. The silence rule ends that after 20 s.
        """
        fleet, unfenced = self.fleet, self.fence < self.lead_epoch
        worst_w = self._with_worst(self._told_w(), now_s, np.zeros_like(unfenced))
        trusted = unfenced & ~self.proven & (now_s - self.taken_s <= TRUST_S)
        if not trusted.any():
            return worst_w
        rules_w = np.minimum(fleet.gpu_fallback_w, fleet.max_w)
        said_w = np.where(np.isnan(self.said_w), rules_w, self.said_w) * self.overshoot
        return np.where(trusted[fleet.gpu_node], np.maximum(said_w, self.booked_w), worst_w)

    def unfenced(self, now_s: float) -> Bools:
        """(N,) nodes in whose domains nothing may rise: no ack of the present leader, nor shown after stage 2.

        Once every grant of the leader before has surely run into stage 2, such a node blocks no more: it counts
        device maximum.
        """
        return self._unknown() & (now_s < self.proof_s())

    def proof_s(self) -> float:
        """When whatever the leader before granted has surely run into the second stage."""
        return self.taken_s + self.leases.ttl_s + self.leases.second_stage_s + HEARTBEAT_S

    def moved_to(self, fleet: Fleet) -> "Ledger":
        """Everything known, on another fleet: boards go by UUID on the same node, nodes by id."""
        old_nodes, old_rows = fleet.nodes_in(self.fleet), fleet.gpus_in(self.fleet)
        moved = Ledger(fleet, self.leases)
        moved.roll, moved.outbox = self.roll.moved_to(fleet, old_nodes), self.outbox.moved_to(fleet, old_rows)
        for column in PER_BOARD:
            getattr(moved, column)[old_rows >= 0] = getattr(self, column)[old_rows[old_rows >= 0]]
        for column in PER_NODE:
            getattr(moved, column)[old_nodes >= 0] = getattr(self, column)[old_nodes[old_nodes >= 0]]
        moved.acked_key = [self.acked_key[before] if before >= 0 else NOTHING for before in old_nodes]
        moved.stuck |= ~fleet.settable
        moved.lead_epoch, moved.taken_s = self.lead_epoch, self.taken_s
        return moved

    def _unknown(self) -> Bools:
        return (self.fence < self.lead_epoch) & ~self.proven & ~self.dark

    def _told_w(self) -> Floats:
        told_w = np.maximum(np.maximum(self.acked_w, self.outbox.highest_w), self.seen_w)
        return np.fmax(told_w, self.fallback_w)  # which is NaN where none is in force

    def _with_worst(self, told_w: Floats, now_s: float, unknown: Bools) -> Floats:
        fleet, silent = self.fleet, self.roll.silent(now_s)
        lost = (silent & ~fleet.boot_guard) | unknown
        # One let go counts its baseline, which it was granted.
        at_most = ~(self.told | (self.booked_w > 0)) | self.stuck | lost[fleet.gpu_node]
        # A board unread on a node that talks may have lost its limit with its driver.
        at_most |= (now_s - self.read_s > TRUST_S) & ~silent[fleet.gpu_node]
        worst_w = np.where(at_most, np.maximum(told_w, fleet.max_w), told_w)
        worst_w = np.maximum(worst_w, self.booked_w) * self.overshoot
        return np.where(self.dark[fleet.gpu_node], 0.0, worst_w) if self.dark.any() else worst_w

    def _of_this_boot(self, node: int, boot_id: str, minted_s: float) -> bool:
        known = self.roll.boot_is(node, boot_id)
        if known is False and not self.roll.goes_on(node, boot_id, minted_s):
            return False
        if not known:
            self._booted(node, boot_id)
        self.dark[node] = False
        return True

    def _booted(self, node: int, boot_id: str) -> None:
        """A host comes up uncapped: its boards count device maximum until an ack of this boot tells more."""
        self.roll.booted(node, boot_id)
        boards = self.fleet.gpus_of(node)
        self.told[boards], self.said_w[boards] = False, np.nan
        self.acked_w[boards] = self.fleet.max_w[boards]
        self.seen.forget(boards)
        self.acked_ns[node], self.fence[node], self.proven[node] = -1, -1, False
        self.rebooted[node] = bool(self.roll.earlier_boots[node])

    def boards_shown(self, boards: ShownBoards, state_ns: Stamps, minted_s: Seconds) -> None:
        """What a state newer than the ack shows; of several nodes at once with a stamp for each board."""
        rows, read = boards.rows, boards.read
        self.stuck[rows] |= ~boards.settable
        self.baseline_w[rows] = boards.baseline_w
        self.told[rows] &= boards.controlled
        self.read_s[read] = np.maximum(self.read_s[read], minted_s)
        self.said_w[read] = boards.most_w
        self.seen.show(read, boards.most_w, state_ns)

    def boards_acked(self, boards: AckedBoards, ack_ns: Stamps, minted_s: Seconds) -> None:
        """What an ack says was read back; of several nodes at once with a stamp for each board."""
        rows = boards.rows
        self.acked_w[rows] = boards.holds_w
        self.requested_w[rows] = boards.requested_w
        self.fallback_w[rows] = boards.fallback_w
        self.told[rows] = boards.armed
        self.stuck[rows] = boards.refuses | ~self.fleet.settable[rows]
        self.read_s[rows] = np.maximum(self.read_s[rows], minted_s)
        self.said_w[rows] = boards.most_w
        self.seen.acked(rows, ack_ns)

    def _proves(self, node: int, minted_s: float, stage: int) -> bool:
        """Whether a state shows a node without an ack after every grant of the leader before has run out."""
        if self.fence[node] >= self.lead_epoch or self.rebooted[node]:
            return False
        if stage < 2:
            self.proven[node] = False  # somebody grants
            return False
        return minted_s >= self.taken_s + self.leases.ttl_s

    def _proved(self, nodes: NDArray[np.int64], minted_s: Floats) -> Bools:
        """The same of frames (F,), which show no stage: they serve where the guardian itself says nothing."""
        unknown = (self.fence[nodes] < self.lead_epoch) & ~self.rebooted[nodes]
        shown: Bools = unknown & (minted_s >= self.proof_s())
        return shown & (minted_s - self.roll.nonce_s[nodes] > QUIET_S)

    def _taken_as_shown(self, row: int, watts: float, fallback_w: float) -> None:
        if not self.proven[self.fleet.gpu_node[row]]:
            self.acked_w[row] = watts
            self.seen.forget(row)
        self.fallback_w[row] = max(np.nan_to_num(self.fallback_w[row]), fallback_w)
        self.told[row] = True
