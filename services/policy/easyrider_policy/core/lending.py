"""Which budgets may leave for the regions below, booked as they do: lower first, verified, then raise.

After a take-over a region that has not named a budget of this epoch is told to go on with what it says it holds. A
leader whose lease at the store has ended lets no lease of a region end later than one that left in time: its
successor cannot reach those it reaches.
"""

from collections.abc import Mapping

import numpy as np

from easyrider_policy.core.account import Account, Borrower, Grant, Standing
from easyrider_policy.core.fleet import Floats
from easyrider_policy.core.lent import Lent
from easyrider_policy.core.silence import Key

__all__ = ["Account", "Borrower", "Grant", "Lending", "Standing"]

SLACK_W = 1e-6
LEAST_MOVE_W = 1.0


class Lending(Lent):
    """What leaves for every region right below one scope."""

    def unsaid(self, grant: Grant) -> None:
        """A raise that was booked did not leave, and may not: the next grant starts from the one before it."""
        account = self.accounts[grant.region]
        account.held_w = min(account.held_w, grant.before_w)
        account.held_target_w = min(account.held_target_w, account.held_w)
        account.answered = -1

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
