"""Who leads, as a state machine of what the store answers, what nodes say and what time it is.

Each function takes a state and one thing that happened and gives the next state. Times are monotonic seconds of
this process. Only a leader in `holding` or `leading` may publish, and only while `may_publish` says so.
"""

from dataclasses import dataclass, replace
from typing import Literal

from easyrider.tree import Leases
from easyrider_policy.core.silence import HEARTBEAT_S

Phase = Literal["contending", "holding", "leading"]
ANSWER_S = 2.0
"""A renewal is tried every second with a deadline of half a one: an outcome older than this is no news."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """What this process knows of the leadership of its scope."""

    phase: Phase = "contending"
    epoch: int = -1  # ours, or the last that was ours
    highest_epoch: int = -1  # seen anywhere: store, states, acks
    taken_s: float = -1e18
    renewed_s: float = -1e18  # start of the last renewal that succeeded
    silent_s: float = -1e18  # end of the last renewal that got no answer
    acked_s: float = -1e18  # newest ack of a node that has our epoch as its highest
    why: str = "not led yet"


def seen(lead: Lead, epoch: int) -> Lead:
    """An epoch in a state, an ack, a refusal or the store; a higher one than ours ends our leadership."""
    if lead.phase != "contending" and epoch > lead.epoch:
        highest = max(lead.highest_epoch, epoch)
        return _stepped_down(replace(lead, highest_epoch=highest), f"epoch {epoch} is above ours")
    return lead if epoch <= lead.highest_epoch else replace(lead, highest_epoch=epoch)


def acked(lead: Lead, highest_epoch: int, now_s: float) -> Lead:
    """A node said at `now_s` which epoch is its highest; one that is heard late takes nothing back."""
    lead = seen(lead, highest_epoch)
    if lead.phase != "contending" and highest_epoch == lead.epoch and now_s > lead.acked_s:
        return replace(lead, acked_s=now_s)
    return lead


def taken(lead: Lead, epoch: int, started_s: float, now_s: float) -> Lead:
    """The store gave us this epoch in a call that started at `started_s`."""
    if epoch <= lead.highest_epoch:
        return _stepped_down(lead, f"epoch {epoch} is not above {lead.highest_epoch}")
    return replace(
        lead,
        phase="holding",
        epoch=epoch,
        highest_epoch=epoch,
        taken_s=now_s,
        renewed_s=started_s,
        silent_s=-1e18,
        acked_s=now_s,
        why="taken",
    )


def renewed(lead: Lead, started_s: float) -> Lead:
    """A renewal that started at `started_s` succeeded."""
    return lead if lead.phase == "contending" else replace(lead, renewed_s=max(lead.renewed_s, started_s))


def not_ours(lead: Lead) -> Lead:
    """The store answered: no key, or another owner."""
    return lead if lead.phase == "contending" else _stepped_down(lead, "the store says it is not ours")


def unanswered(lead: Lead, now_s: float) -> Lead:
    """A renewal got no answer in its time."""
    return lead if lead.phase == "contending" else replace(lead, silent_s=now_s)


def passed(lead: Lead, leases: Leases, now_s: float) -> Lead:
    """Time passed: step down if the right to publish has ended, go from holding to leading when it is time."""
    if lead.phase == "contending":
        return lead
    if not may_publish(lead, leases, now_s):
        return _stepped_down(lead, "the lease ran out before it was renewed")
    if lead.phase == "holding" and raises_allowed(lead, leases, now_s):
        return replace(lead, phase="leading")
    return lead


def may_publish(lead: Lead, leases: Leases, now_s: float) -> bool:
    """Whether a command may leave at this moment; ask right before each one.

    Within the lease, counted from the start of the last successful renewal. After it only while the store does
    not answer, renewals are being tried, and acks show our epoch as the highest. A loop that was late, or a
    process that was frozen, has no recent try and stops.
    """
    if lead.phase == "contending" or lead.highest_epoch > lead.epoch:
        return False
    if now_s <= lead.renewed_s + leases.leader_lease_s:
        return True
    tried = lead.silent_s > lead.renewed_s and now_s - lead.silent_s <= ANSWER_S
    return tried and now_s - lead.acked_s <= leases.leader_lease_s


def raises_allowed(lead: Lead, leases: Leases, now_s: float) -> bool:
    """Whether anything may rise: not for ttl + one heartbeat after a take-over, while old commands may land."""
    return lead.phase != "contending" and now_s >= lead.taken_s + leases.ttl_s + HEARTBEAT_S


def settled(lead: Lead) -> bool:
    """Whether the scope is in steady hands, as far as we know: ours, with the hold behind us, or another's."""
    elsewhere = lead.highest_epoch > max(lead.epoch, 0)  # a node that nobody ever led says 0
    return lead.phase == "leading" or (lead.phase == "contending" and elsewhere)


def _stepped_down(lead: Lead, why: str) -> Lead:
    return replace(lead, phase="contending", why=why)
