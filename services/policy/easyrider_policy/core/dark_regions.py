"""Regions that an operator answers for: they will not return, and draw no more than their guaranteed share.

The word outlives the leader it was given to, in the store, and ends with the region's next demand. A leader takes up
records of the leader right before it alone, and writes them anew as its own: an older one may have been void long
since. A record of a region that was heard again is gone from the store before a budget raises anything there: a
leader after us that never heard the region would believe it.
"""

from dataclasses import dataclass, field

import numpy as np

from easyrider_policy.core.account import Account
from easyrider_policy.core.silence import TRUST_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """An operator's word on one region: under which leader it was last written down, and the region's last demand."""

    leader_epoch: int
    epoch: int  # of the newest demand that was heard then; -1: none ever was
    seq: int
    who: str


@dataclass(slots=True)
class Records:
    """What the store holds of it, as far as this leader knows. `kept` False: nobody keeps records here."""

    kept: bool = False
    read: bool = False  # under this epoch of ours
    held: dict[str, Record] = field(default_factory=dict)

    def forget(self) -> None:
        """We lead anew: what the store holds is read again."""
        self.read, self.held = False, {}

    def bar(self, region: str) -> str:
        """Why nothing may rise in a region; empty: it may."""
        return "released" if self.kept and (not self.read or region in self.held) else ""

    def take_up(self, found: dict[str, Record], accounts: dict[str, Account], epoch: int) -> None:
        """What the store held when this epoch began. All of it is held until it is written anew or gone."""
        self.read, self.held = True, found
        for name, record in found.items():
            account = accounts.get(name)
            if account is not None and record.leader_epoch == epoch - 1 and not _spoke(account, record):
                account.dark = True

    def wanted(self, accounts: dict[str, Account], epoch: int) -> dict[str, Record]:
        """What the store should hold now."""
        return {
            name: Record(leader_epoch=epoch, epoch=record.epoch, seq=record.seq, who=record.who)
            for name, record in self.held.items()
            if name in accounts and accounts[name].dark
        }


def record_of(account: Account, epoch: int, who: str) -> Record:
    """An operator's word of this moment."""
    last = account.demand
    return Record(
        leader_epoch=epoch,
        epoch=-1 if last is None else last.epoch,
        seq=-1 if last is None else last.seq,
        who=who,
    )


def why_not(account: Account | None, name: str, led_s: float, runs_s: float, now_s: float) -> str | None:
    """Why a region may not be answered for; None: it may.

    `led_s`: since when we lead; `runs_s`: from its last word until all that it was lent has run out. A region that
    speaks draws what it draws; one that may still hold what it was lent goes down by itself first.
    """
    if account is None:
        return f"{name!r} is no region right below this scope"
    if account.dark:
        return f"{name} counts its guaranteed share already: it was released before and was not heard since"
    age_s, wait_s = now_s - account.heard_s, max(runs_s, TRUST_S)
    if np.isfinite(age_s) and age_s <= wait_s:
        return (
            f"{name} was heard {age_s:.1f} s ago: what it was lent then may run for {wait_s:.0f} s. Ask again when "
            "nothing was heard of it for so long"
        )
    if now_s - led_s <= wait_s:
        return (
            f"this coordinator leads since {now_s - led_s:.1f} s, and what {name} was lent before may run for "
            f"{wait_s:.0f} s: ask again after that"
        )
    return None


def _spoke(account: Account, record: Record) -> bool:
    """Whether a demand newer than that word was heard by us."""
    last = account.demand
    return last is not None and (last.epoch, last.seq) > (record.epoch, record.seq)
