"""What every region below could still be drawing, and which budgets may leave: lower first, verified, then raise.

A region counts the most of: its guaranteed share, its floor, every budget whose lease could still run, and all it
last said could be drawn there; where it never said, or could not tell, all its domain may carry. A `Demand` that
names a budget ends those before it: the region takes no older one.
Nothing else lowers the count but time: a lease, and after it the dead-man, the ttl and two control periods of the
region's nodes, and a lease more for each level of regions below it. A lease is counted from the arrival of the
nonce that the budget echoes, which lies after its mint.

After a take-over what the leader before granted is unknown: a region that has not named a budget of this epoch
counts all its domain may carry, for every raise, until all that could have been granted has run out; until then
it is told to go on with what it says it holds. A leader whose lease at the store has ended lets no lease of a region
end later than one that left in time: its successor cannot reach those it reaches. Times are monotonic seconds of
this process.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from easyrider.messages import Demand
from easyrider.tree import Leases
from easyrider_policy.core.account import Account, Borrower, Grant, Standing
from easyrider_policy.core.dark_regions import Records
from easyrider_policy.core.fleet import Floats
from easyrider_policy.core.silence import Key

__all__ = ["Account", "Borrower", "Grant", "Lending", "Standing"]

UNHEARD_S = 3.0
"""After a take-over a region that is reachable has spoken by then; until then nobody is lowered for its sake."""
SLACK_W = 1e-6
LEAST_MOVE_W = 1.0


class Lending:
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

    def unsaid(self, grant: Grant) -> None:
        """A raise that was booked did not leave, and may not: the next grant starts from the one before it."""
        account = self.accounts[grant.region]
        account.held_w = min(account.held_w, grant.before_w)
        account.held_target_w = min(account.held_target_w, account.held_w)
        account.answered = -1

    def moved_to(
        self, borrowers: Sequence[Borrower], leases: Leases, lease_s: float, version: int
    ) -> "Lending":
        """The same accounts under other rules; nothing that was granted to a region still named is forgotten."""
        moved = Lending(borrowers, leases, lease_s, version)
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

    def compose(
        self,
        now_s: float,
        wanted: Mapping[str, tuple[float, float]],
        room_w: Floats,
        carried: Mapping[str, Floats],
        raises_allowed: bool,
        held: frozenset[str] = frozenset(),
        until_s: float = np.inf,
    ) -> list[Grant]:
        """Budgets that may leave now, booked. Watts wanted (hard, target) by region.

        `room_w` (D,): what the hard limits leave above everything counted; `carried` (D,) by region: what each
        domain carries of a watt there; `until_s`: end of our lease at the store. A region is answered once a demand,
        and at once when it must give back.
        """
        left_w = room_w.copy()
        found = []
        for name, account in self.accounts.items():
            if account.demand is None or now_s - account.heard_s >= self.lease_s:
                continue  # a nonce that old cannot carry a lease
            hard_w, target_w = wanted.get(name, (account.held_w, account.held_target_w))
            bar = "hold" if name in held else "" if raises_allowed and account.fenced else "take_over"
            bar = bar or ("" if now_s <= until_s else "store") or self.records.bar(name)
            lease_s = self.lease_s + min(0.0, until_s - account.heard_s)
            if lease_s <= 0:  # all that was lent has run out there
                hard_w, lease_s = min(hard_w, account.share_w), self.lease_s
            if not bar and not (room_w[carried[name] > 0] < -SLACK_W).any():
                account.vouch()
            given_w = self._given_w(account, now_s, hard_w, left_w, carried[name], bar)
            lower = given_w < account.held_w - LEAST_MOVE_W
            if account.demand.nonce == account.answered and not lower:
                continue
            found.append(self._grant(account, given_w, min(target_w, given_w), lease_s))
        return found

    def _given_w(
        self,
        account: Account,
        now_s: float,
        wanted_w: float,
        left_w: Floats,
        carried: Floats,
        bar: str,
    ) -> float:
        """Lower at once; raise by what the room carries, which is taken from `left_w`. `bar`: why nothing may rise."""
        account.why = ""
        counted_w = self._counted_w(account, now_s)
        base_w = min(
            account.held_w, counted_w, account.holds_w(now_s)
        )  # what has run out may be lent to others
        if wanted_w <= base_w:
            return wanted_w
        if bar:
            account.why = bar
            return base_w
        need_w = max(0.0, wanted_w - counted_w)
        bound = carried > 0
        closed = bool((left_w[bound] < -SLACK_W).any())
        fits_w = 0.0 if closed or not bound.any() else float((left_w[bound] / carried[bound]).min())
        part_w = min(need_w, max(0.0, fits_w))
        given_w = wanted_w if part_w >= need_w and not closed else max(base_w, counted_w + part_w)
        if closed:
            given_w = base_w  # over a limit nothing rises, not even inside the count
        if given_w < wanted_w:
            account.why = "room"
        if given_w - base_w < LEAST_MOVE_W:
            return base_w
        left_w -= carried * max(0.0, given_w - counted_w)
        return given_w

    def _grant(self, account: Account, hard_w: float, target_w: float, lease_s: float) -> Grant:
        assert account.demand is not None
        self.seq += 1
        grant = Grant(
            region=account.borrower.id,
            key=Key(self.epoch, self.seq),
            nonce=account.demand.nonce,
            lease_s=lease_s,
            hard_w=hard_w,
            target_w=target_w,
            vouched_w=account.standing.vouched_w or 0.0,
            ends_s=account.heard_s + lease_s + self.wait_s(account.borrower),
            before_w=account.held_w,
        )
        account.answered = account.demand.nonce
        account.held_w, account.held_target_w = hard_w, target_w
        # One that is worth less and ends sooner counts for nothing beside the new one.
        kept = [g for g in account.grants if g.hard_w > grant.hard_w or g.ends_s > grant.ends_s]
        account.grants = [*kept, grant]
        return grant

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
