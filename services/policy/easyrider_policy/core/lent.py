"""What every region below could still be drawing.

A region counts the most of: its guaranteed share, its floor, every budget whose lease could still run, and all it
last said could be drawn there; where it never said, or could not tell, all its domain may carry. A `Demand` that
names a budget ends those before it: the region takes no older one.
Nothing else lowers the count but time: a lease, and after it the dead-man, the ttl and two control periods of the
region's nodes, and a lease more for each level of regions below it. A lease is counted from the arrival of the
nonce that the budget echoes, which lies after its mint.

After a take-over what the leader before granted is unknown: a region that has not named a budget of this epoch
counts all its domain may carry, for every raise, until all that could have been granted has run out. Times are
monotonic seconds of this process.
"""

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from easyrider.messages import Demand
from easyrider.tree import Leases
from easyrider_policy.core.account import Account, Borrower, Standing
from easyrider_policy.core.dark_regions import Records
from easyrider_policy.core.silence import Key

UNHEARD_S = 3.0
"""After a take-over a region that is reachable has spoken by then; until then nobody is lowered for its sake."""


class Lent:
    """Accounts of every region right below one scope."""

    def __init__(
        self, borrowers: Sequence[Borrower], leases: Leases, lease_s: float, version: int = 0
    ) -> None:
        self.leases, self.lease_s, self.version = leases, lease_s, version
        self.epoch, self.taken_s, self.seq = -1, -np.inf, 0
        self.accounts = {borrower.id: Account(borrower) for borrower in borrowers}
        self.records: Records = Records()

    def remember(self, kept: Mapping[str, Standing]) -> None:
        """What a process before this one knew of guaranteed shares."""
        for name, standing in kept.items():
            if (account := self.accounts.get(name)) is not None:
                account.stood(standing)
                account.held_w = account.held_target_w = account.share_w

    def wait_s(self, borrower: Borrower) -> float:
        """From the end of a region's lease until its watts are surely free."""
        leases = self.leases
        below_s = leases.dead_man_s + leases.ttl_s + 2 * leases.control_period_s
        return borrower.levels * self.lease_s + below_s

    # What we do and hear

    def took_over(self, epoch: int, now_s: float) -> None:
        """We lead with this epoch now: what the leader before granted last is unknown."""
        self.epoch, self.taken_s, self.seq = epoch, now_s, 0
        self.records.forget()
        for account in self.accounts.values():
            account.fenced = account.dark = False

    def heard(self, demand: Demand, now_s: float) -> bool:
        """Whether a demand is news: not older than one before, of a region of ours."""
        account = self.accounts.get(demand.region)
        if account is None:
            return False
        before = account.demand
        if before is not None and (demand.epoch, demand.seq) <= (before.epoch, before.seq):
            return False
        named = Key(demand.highest_epoch, demand.highest_seq)
        if named.epoch == self.epoch and named.seq > self.seq:
            return False  # we never said that
        account.demand, account.heard_s, account.dark = demand, now_s, False
        if demand.tree_version >= self.version:
            account.disavowed()
        if named.epoch == self.epoch:
            account.fenced = True
            # Of the named one the demand itself tells what of it is obeyed.
            account.grants = [grant for grant in account.grants if grant.key > named]
            if not account.grants:
                account.held_w = account.share_w if demand.granted_w is None else demand.granted_w
        elif not account.fenced and demand.granted_w is not None:
            # Under a leader before. It may hold less by now; a first budget of ours raises nothing there.
            account.held_w = account.held_target_w = demand.granted_w
        return True

    def moved_to(self, borrowers: Sequence[Borrower], leases: Leases, lease_s: float, version: int) -> Self:
        """The same accounts under other rules; nothing that was granted to a region still named is forgotten."""
        moved = type(self)(borrowers, leases, lease_s, version)
        moved.epoch, moved.taken_s, moved.seq = self.epoch, self.taken_s, self.seq
        moved.records = self.records
        for name, account in moved.accounts.items():
            before = self.accounts.get(name)
            if before is None:
                continue
            account.demand, account.heard_s, account.answered = before.demand, before.heard_s, before.answered
            account.grants, account.fenced, account.dark = before.grants, before.fenced, before.dark
            account.stood(before.standing)
            account.held_w, account.held_target_w = before.held_w, before.held_target_w
        return moved

    def standings(self) -> dict[str, Standing]:
        """What is to outlive this process before a budget names it."""
        return {name: account.standing for name, account in self.accounts.items()}

    # What follows

    def counted_w(self, now_s: float) -> dict[str, float]:
        """Wall watts that each region could be drawing."""
        return {name: self._counted_w(account, now_s) for name, account in self.accounts.items()}

    def planned_w(self, now_s: float) -> dict[str, float]:
        """The same for planning, but a take-over alone moves nothing for a moment."""
        fresh = now_s - self.taken_s <= UNHEARD_S
        return {
            name: self._unmoved_w(account, now_s)
            if fresh and not account.fenced
            else self._counted_w(account, now_s)
            for name, account in self.accounts.items()
        }

    def silent(self, now_s: float) -> list[str]:
        """Regions whose lease may have run out without a word."""
        return [name for name, account in self.accounts.items() if now_s - account.heard_s > self.lease_s]

    def _counted_w(self, account: Account, now_s: float) -> float:
        known_w, unheard = self._known_w(account, now_s), account.demand is None
        if account.dark or (account.fenced and not unheard):
            return known_w
        unknown = unheard or now_s < self.taken_s + self.lease_s + self.wait_s(account.borrower)
        return max(known_w, account.borrower.worst_w) if unknown else known_w

    def _unmoved_w(self, account: Account, now_s: float) -> float:
        if account.demand is None and not account.dark:
            return max(account.borrower.guaranteed_w, account.held_w)
        return self._known_w(account, now_s)

    def _known_w(self, account: Account, now_s: float) -> float:
        """Of what is known: a region that has not been heard for long has its guaranteed share and its floor."""
        return account.known_w(now_s, self.lease_s + self.wait_s(account.borrower))
