"""What is known of one region, and all that it could still be drawing. Times are monotonic seconds of this process."""

from dataclasses import dataclass, field

import numpy as np

from easyrider.messages import Demand
from easyrider_policy.core.silence import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Borrower:
    """A region as its parent's rules name it. `row`: its domain; `worst_w`: the most that domain may carry."""

    id: str
    row: int
    guaranteed_w: float
    worst_w: float
    levels: int = 0  # of regions below it


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A budget that left: watts, and until when they count if nothing is heard."""

    region: str
    key: Key
    nonce: int
    lease_s: float
    hard_w: float
    target_w: float
    vouched_w: float  # of its guaranteed share, what the region may take without a lease
    ends_s: float
    before_w: float  # what the region was granted before

    @property
    def raised(self) -> bool:
        """Whether it lets a region draw more than the one before."""
        return self.hard_w > self.before_w


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Guaranteed shares of a region over versions of the rules, as they outlive this process: the highest that it
    may still obey, and what it was told to take; None: it has been told none."""

    owed_w: float
    vouched_w: float | None


@dataclass(slots=True)
class Account:
    """`held_w`, `held_target_w`: newest grant, what the next one starts from. A region that no record and no demand
    tells of may obey shares of rules that we never read: it owes all that its domain may carry."""

    borrower: Borrower
    demand: Demand | None = None
    heard_s: float = -np.inf  # arrival of the newest demand, and of its nonce
    answered: int = -1  # the nonce that was last echoed
    grants: list[Grant] = field(default_factory=list)
    fenced: bool = False  # named a budget of this epoch
    standing: Standing = field(init=False)
    held_w: float = field(init=False)
    held_target_w: float = field(init=False)
    why: str = ""  # what holds back its raise
    dark: bool = False  # by an operator's word, until it is heard: it draws no more than its guaranteed share

    def __post_init__(self) -> None:
        share_w = self.held_w = self.held_target_w = self.borrower.guaranteed_w
        self.standing = Standing(owed_w=max(share_w, self.borrower.worst_w), vouched_w=None)

    @property
    def owed_w(self) -> float:
        """The highest share guaranteed by rules that it may still obey."""
        return self.borrower.guaranteed_w if self.dark else self.standing.owed_w

    @property
    def floor_w(self) -> float | None:
        """What it cannot go below by its last word; None: that is not known."""
        if self.dark:
            return self.borrower.guaranteed_w
        return None if self.demand is None else self.demand.floor_w

    @property
    def share_w(self) -> float:
        """What a region without a lease may take, as far as we know."""
        told_w = self.standing.vouched_w
        return self.borrower.guaranteed_w if told_w is None else told_w

    def holds_w(self, now_s: float) -> float:
        """The most it can have leave for: what it tells, what left and could still arrive, or else its share."""
        told_w = None if self.demand is None else self.demand.granted_w
        live_w = [grant.hard_w for grant in self.grants if now_s < grant.ends_s]
        return max(self.share_w if told_w is None else told_w, *live_w, 0.0)

    def stood(self, before: Standing) -> None:
        """What held before these rules, or before this process."""
        share_w, told_w = self.borrower.guaranteed_w, before.vouched_w
        self.standing = Standing(
            owed_w=max(share_w, before.owed_w), vouched_w=None if told_w is None else min(share_w, told_w)
        )

    def disavowed(self) -> None:
        """It says that it obeys no older rules."""
        self.standing = Standing(owed_w=self.borrower.guaranteed_w, vouched_w=self.standing.vouched_w)

    def vouch(self) -> None:
        """The sums leave room for its whole share: the next budget names it."""
        self.standing = Standing(owed_w=self.owed_w, vouched_w=self.borrower.guaranteed_w)

    def known_w(self, now_s: float, runs_s: float) -> float:
        """The most of what is known. `runs_s`: from an arrival until all that was told and lent then has run out.
        After it what cannot be got below stays; where that was not told, all its domain may carry."""
        demand = self.demand
        if self.dark:
            return self.owed_w
        watts = [self.owed_w, *(g.hard_w for g in self.grants if now_s < g.ends_s)]
        if demand is None:
            return max(watts)
        if demand.floor_w is not None:
            watts.append(demand.floor_w)
        if now_s < self.heard_s + runs_s:
            watts += [w for w in (demand.granted_w, demand.counted_w) if w is not None]
        elif demand.floor_w is None:
            watts.append(self.borrower.worst_w)
        if demand.counted_w is None:
            watts.append(self.borrower.worst_w)
        return max(watts)
