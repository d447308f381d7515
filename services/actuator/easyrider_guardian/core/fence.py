"""Whether a command may have effect: for this node, newer than every one before, and not late."""

from dataclasses import dataclass

from easyrider.messages import ExitGrant, Hold, SetLimits
from easyrider.units import nanoseconds
from easyrider_guardian.core.nonces import Minter
from easyrider_guardian.core.records import Standing, Terms

Command = SetLimits | Hold | ExitGrant


@dataclass(frozen=True, slots=True)
class Lease:
    """A command that passed: minted at `mint_ns`, void after `until_ns`, both on CLOCK_BOOTTIME."""

    mint_ns: int
    until_ns: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """A command that did not pass, and why, as the ack says it."""

    reason: str


def judge(command: Command, standing: Standing, terms: Terms, minter: Minter, now_ns: int) -> Lease | Refusal:
    """The lease of a command as of `now_ns` (CLOCK_BOOTTIME), or why it has no effect.

    Age is measured from the mint of the nonce that it echoes, so a bus that held it back, a clock that was
    set and an actuator that replays can only make it older.
    """
    if command.tree != terms.tree:
        return Refusal("wrong_tree")
    if command.region != terms.region:
        return Refusal("wrong_region")
    if command.node != terms.node:
        return Refusal("wrong_node")
    if command.epoch < standing.epoch:
        return Refusal("stale_epoch")
    if (command.epoch, command.seq) <= (standing.epoch, standing.seq):
        return Refusal("stale_seq")
    if not 0 < command.ttl_s <= terms.dead_man_s:
        return Refusal("bad_ttl")
    mint_ns = minter.mint_ns(command.nonce)
    if mint_ns is None or mint_ns > now_ns:
        return Refusal("wrong_boot")
    lease = Lease(mint_ns, mint_ns + nanoseconds(command.ttl_s))
    return Refusal("stale_nonce") if late(lease, now_ns) else lease


WRITE_MARGIN_NS = 50_000_000
"""From the last question to the driver's own clock; a write that would end up beside its lease is not begun."""


def late_for_a_write(lease: Lease, now_ns: int) -> bool:
    """Whether a write begun now may come into effect after the lease."""
    return late(lease, now_ns + WRITE_MARGIN_NS)


def late(lease: Lease, now_ns: int) -> bool:
    """Whether the lease has run out."""
    return now_ns > lease.until_ns
