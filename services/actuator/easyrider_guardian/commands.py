"""A command from its bytes to its ack: fenced, stored, written lowers first, read back."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from easyrider import wire
from easyrider.messages import ExitGrant, Hold, LimitAck, SetLimits
from easyrider_guardian.adapters.clocks import boot_ns, mono_ns
from easyrider_guardian.core import fence, report, transitions, vector
from easyrider_guardian.core.orders import Order
from easyrider_guardian.core.records import Reading
from easyrider_guardian.core.vector import Entry
from easyrider_guardian.node import Node, needed
from easyrider_guardian.restoring import restore

KINDS = (SetLimits, Hold, ExitGrant)


class Done(NamedTuple):
    """What became of a command; `refusals` by UUID."""

    refused: str | None
    accepted: bool
    refusals: Mapping[str, str]


def obey(node: Node, data: bytes, looked: Callable[[], None] = lambda: None) -> LimitAck:
    """The answer to the command in `data`. Raises `MalformedMessage`: counted by the caller, nothing changes.

    `looked` is called before the command moves anything, and when it has moved all before boards are looked at again:
    what moves between two such moments, or after the last, was moved by somebody else.
    """
    command = wire.decode(data, KINDS)
    assert isinstance(command, SetLimits | Hold | ExitGrant)
    began_ns = boot_ns()
    if isinstance(command, SetLimits):
        # Looking takes time: the fence is asked after it, and again by every write.
        node.crew.look_now()
    node.absorb()
    looked()
    now_ns = boot_ns()
    lease = fence.judge(command, node.standing, node.terms, node.minter, now_ns)
    if isinstance(lease, fence.Refusal):
        done = Done(lease.reason, False, {})
    elif isinstance(command, SetLimits):
        done = _set_limits(node, command, lease, node.readings(now_ns, began_ns), now_ns)
    elif isinstance(command, ExitGrant):
        done = _exit(node, command, lease)
    else:
        stored = node.keep(transitions.granted(node.standing, command, lease))
        done = Done(None if stored else "cannot_store", True, {})
    looked()
    return _ack(node, command, *done)


def _set_limits(
    node: Node,
    command: SetLimits,
    lease: fence.Lease,
    readings: Mapping[str, Reading | None],
    now_ns: int,
) -> Done:
    if len({limit.uuid for limit in command.limits}) != len(command.limits):
        return Done("duplicate_gpu", False, {})
    entries = vector.weigh(
        command.limits,
        readings,
        node.last_enforced_w(),
        {uuid: held.present_w for uuid, held in node.standing.controlled.items()},
        node.unwritable(now_ns),
        node.quarantined(),
    )
    if node.hold is not None:
        entries = vector.without_raises(entries, node.standing.holdings)
    found = transitions.first_found(needed(node.baselines), entries, readings)
    if found and found != node.baselines:
        if not node.keeper.keep_baselines(found):
            # Nothing may be written that could not be put back.
            return Done("cannot_store", False, {})
        node.baselines = found
    before = node.standing
    stored = node.keep(transitions.held(transitions.granted(before, command, lease), entries))
    refusals = _write(node, command, lease, entries, stored)
    unraised = [entry.uuid for entry in entries if entry.raises and entry.uuid in refusals]
    node.standing = transitions.not_raised(node.standing, before, unraised)
    return Done(None if stored else "cannot_store", True, refusals)


def _write(
    node: Node, command: SetLimits, lease: fence.Lease, entries: Iterable[Entry], stored: bool
) -> dict[str, str]:
    """Lowers, verified, then raises; why a board does not hold what was asked, by UUID."""
    refusals = {entry.uuid: entry.refused for entry in entries if entry.refused is not None}
    lowers = [entry for entry in entries if entry.lowers]
    raises = [entry for entry in entries if entry.raises]
    fallen = node.carry_out(_order(node, command, lease, entry) for entry in lowers)
    open_lower = any(entry.open_lower for entry in entries)
    for uuid, outcome in fallen.items():
        if outcome.problem is not None:
            refusals[uuid], open_lower = outcome.problem, True
    if open_lower or not stored:
        why = "lower_unverified" if open_lower else "cannot_store"
        return refusals | {entry.uuid: why for entry in raises}
    risen = node.carry_out(_order(node, command, lease, entry) for entry in raises)
    problems = {uuid: outcome.problem for uuid, outcome in risen.items() if outcome.problem is not None}
    return refusals | problems


def _order(node: Node, command: SetLimits, lease: fence.Lease, entry: Entry) -> Order:
    assert entry.limit_w is not None

    def permit(now_ns: int) -> str | None:
        if fence.late_for_a_write(lease, now_ns):
            return "stale_nonce"
        if entry.raises and node.hold is not None:
            return vector.HELD
        standing = node.standing  # read once: another thread asks
        newest = (standing.epoch, standing.seq) == (command.epoch, command.seq)
        return None if newest else "superseded"

    return Order(
        uuid=entry.uuid,
        limit_w=entry.limit_w,
        raises=entry.raises,
        cause="command",
        epoch=command.epoch,
        seq=command.seq,
        mint_ns=lease.mint_ns,
        ttl_s=command.ttl_s,
        permit=permit,
    )


def _exit(node: Node, command: ExitGrant, lease: fence.Lease) -> Done:
    stored = node.keep(transitions.granted(node.standing, command, lease))
    uuids = command.gpus or tuple(needed(node.baselines))
    refusals = restore(
        node, uuids, "exit", lambda now_ns: "stale_nonce" if fence.late_for_a_write(lease, now_ns) else None
    )
    return Done(None if stored else "cannot_store", True, refusals)


def _ack(
    node: Node, command: fence.Command, refused: str | None, accepted: bool, refusals: Mapping[str, str]
) -> LimitAck:
    # A reader drops what it saw before the moment an ack names, so no reading in it may be older than that moment.
    seen_mono_ns, seen_ns = mono_ns(), boot_ns()
    node.crew.look_now()
    node.absorb()
    now_ns = boot_ns()
    return report.limit_ack(
        command,
        node.standing,
        node.terms,
        node.boards(now_ns, seen_ns),
        refused,
        accepted,
        refusals,
        replace(node.moment(now_ns), mono_ns=seen_mono_ns),
    )
