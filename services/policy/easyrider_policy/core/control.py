"""The safety half in one object: what was heard goes in, what may leave comes out, in the only right order.

Every time is this process's monotonic seconds; `minted_s` is when a message was minted: arrival less its age by
its source's own clock. Nothing here reads a clock. After a change of rules or boards, `moved_to` the new fleet.
"""

from collections.abc import Mapping

import numpy as np

from easyrider.messages import Leaving, LimitAck, NodeState
from easyrider.tree import Leases
from easyrider_policy.core import heard, leader
from easyrider_policy.core.commands import Commands, Orders, Wanted
from easyrider_policy.core.counting import Sums, add_up, blocked_above
from easyrider_policy.core.fleet import Bools, Fleet, Floats
from easyrider_policy.core.heard import Acks, Ints, States
from easyrider_policy.core.holds import nobody
from easyrider_policy.core.leader import Lead
from easyrider_policy.core.leaving import Leavings
from easyrider_policy.core.ledger import Ledger
from easyrider_policy.core.unmanaged import Estimates


class Control:
    """Ledger, leadership, leavings and commands of one scope. The parts may be read, not changed from outside."""

    def __init__(self, fleet: Fleet, leases: Leases, tree: str, region: str) -> None:
        self.fleet, self.leases = fleet, leases
        self.lead = Lead()
        self.ledger = Ledger(fleet, leases)
        self.leavings = Leavings(fleet)
        self.commands = Commands(fleet, leases, tree, region)
        self.holds = nobody(fleet)  # boards that may not rise; set anew after each `moved_to`
        self._hard_w: Floats | None = None
        self._silent: frozenset[int] = frozenset()

    # Heard from nodes

    def state_heard(self, state: NodeState, minted_s: float) -> None:
        """A node's state: nonce, epoch, and what its boards hold."""
        self.lead = leader.seen(self.lead, state.highest_epoch)
        self.ledger.state_heard(state, minted_s)
        self.leavings.state_heard(state, minted_s)

    def acked(self, ack: LimitAck, minted_s: float) -> None:
        """A node's answer to a command, ours or another's."""
        self.lead = leader.acked(self.lead, ack.highest_epoch, minted_s)
        if self.ledger.acked(ack, minted_s):
            self.leavings.acked(ack, self.ledger)

    def states_heard(self, states: States) -> None:
        """States of several nodes that name no epoch above those seen, and wait for no leave."""
        heard.states_heard(self.ledger, states)
        self.leavings.present(states.nodes, states.minted_s)

    def acks_heard(self, acks: Acks, highest_epochs: Ints) -> None:
        """Answers of several nodes as they came, that name no epoch above those seen, and of which none was let go."""
        ours = np.flatnonzero(highest_epochs == self.lead.epoch)
        if len(ours):
            self.lead = leader.acked(self.lead, self.lead.epoch, float(acks.minted_s[ours[-1]]))
        heard.acks_heard(self.ledger, acks)

    def frame_heard(self, node: int, boot_id: str, enforced_w: Floats, read_ns: int, minted_s: float) -> None:
        """Enforced limits of the newest row of a frame, NaN where a cell is not valid."""
        self.ledger.frame_heard(node, boot_id, enforced_w, read_ns, minted_s)

    def region_heard(self, highest_epoch: int, now_s: float) -> None:
        """A region below named the highest epoch of ours that it obeys: for the lead, as good as a node's ack."""
        self.lead = leader.acked(self.lead, highest_epoch, now_s)

    def leaving_heard(self, leaving: Leaving, minted_s: float) -> None:
        """A node that stops asks for its baseline."""
        self.leavings.asked(leaving, minted_s)

    def operator_released(self, node: int) -> None:
        """The operator says that a node is dark: it counts no board watts until it is heard again."""
        self.leavings.released(node, self.ledger)
        self.ledger.dark[node] = True

    # Heard from the store

    def taken(self, epoch: int, started_s: float, now_s: float) -> None:
        """The store gave us the lead, in a call that began at `started_s`."""
        self.lead = leader.taken(self.lead, epoch, started_s, now_s)
        if self.lead.phase == "holding":
            self.ledger.took_over(epoch, now_s)

    def renewed(self, started_s: float) -> None:
        """The store renewed our lead."""
        self.lead = leader.renewed(self.lead, started_s)

    def not_ours(self) -> None:
        """The store answered that the lead is not ours."""
        self.lead = leader.not_ours(self.lead)

    def unanswered(self, now_s: float) -> None:
        """The store did not answer a renewal."""
        self.lead = leader.unanswered(self.lead, now_s)

    # Decided

    def planned_w(self, now_s: float) -> Floats:
        """(G,) board watts that planning must leave to each board, baselines that wait to be booked included."""
        reserved_w = self.leavings.reserved_w(now_s) * self.ledger.overshoot
        reserved_w[self.holds.boards] = 0.0  # nothing is given back there, so nobody makes room for it
        return np.maximum(self.ledger.planned_w(now_s), reserved_w)

    def sums(self, now_s: float, managed: Bools, hard_w: Floats, estimates: Estimates) -> Sums:
        """The sum rule as of now. `managed` (G,): in `pilot` or `enforce`; `hard_w` (D,): limits in force."""
        unfenced = blocked_above(self.fleet, self.ledger.unfenced(now_s), "unfenced")
        return self._sums(self.ledger.counted_w(now_s), managed, hard_w, estimates, unfenced)

    def planned_sums(self, now_s: float, managed: Bools, hard_w: Floats, estimates: Estimates) -> Sums:
        """The same by `planned_w`: what to show and to plan by, since a take-over alone exceeds nothing."""
        return self._sums(self.planned_w(now_s), managed, hard_w, estimates, {})

    def passed(self, now_s: float) -> None:
        """Time passed in a scope without boards: the lead runs on, or out, as it would with orders."""
        self.lead = leader.passed(self.lead, self.leases, now_s)

    def orders(self, now_s: float, wanted: Wanted, hard_w: Floats, estimates: Estimates) -> Orders:
        """What leaves now; empty while we do not lead. Publish it at once, or not at all."""
        self.lead = leader.passed(self.lead, self.leases, now_s)
        dropped = self._hard_w is None or bool((hard_w < self._hard_w).any())
        # A meter that falls silent is handled like a dropped limit.
        dropped |= bool(estimates.reasons.keys() - self._silent)
        self._hard_w, self._silent = hard_w.copy(), frozenset(estimates.reasons)
        sums = self.sums(now_s, wanted.managed, hard_w, estimates)
        return self.commands.compose(
            now_s, self.lead, self.ledger, sums, self.leavings, wanted, dropped, self.holds
        )

    def lowered(self, now_s: float, wanted: Wanted) -> Orders:
        """The lowers among what is wanted, which need no room: what cannot wait for `orders`."""
        self.lead = leader.passed(self.lead, self.leases, now_s)
        return self.commands.lowered(now_s, self.lead, self.ledger, self.leavings, wanted, self.holds)

    def may_publish(self, now_s: float) -> bool:
        """Whether a message of the last orders may still leave: ask before each one."""
        return leader.may_publish(self.lead, self.leases, now_s)

    def moved_to(self, fleet: Fleet, leases: Leases | None = None) -> "Control":
        """Everything known, on the fleet of new rules or of boards newly heard. `leases`: of the new rules."""
        moved = Control(fleet, leases or self.leases, self.commands.tree, self.commands.region)
        moved.lead, moved.ledger = self.lead, self.ledger.moved_to(fleet)
        moved.ledger.leases = moved.leases
        moved.leavings, moved.commands = self.leavings.moved_to(fleet), self.commands.moved_to(fleet)
        moved.commands.leases = moved.leases
        return moved

    def _sums(
        self,
        counted_w: Floats,
        managed: Bools,
        hard_w: Floats,
        estimates: Estimates,
        blocked: Mapping[int, str],
    ) -> Sums:
        limitable = self.fleet.settable & ~self.ledger.stuck
        # A board on its way out of `pilot` or `enforce` is held, and counted, until it is let go.
        held = managed | self.ledger.told
        return add_up(self.fleet, counted_w, held, limitable, hard_w, estimates, blocked)
