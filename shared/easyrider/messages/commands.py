"""What the coordinator tells a node, and what the node answers."""

from typing import Literal

from easyrider.messages.base import Count, Message, Name, Record, Watts


class GpuLimit(Record, frozen=True):
    """One entry of the full vector: nil `limit_w` = not ours to write (not in `pilot` or `enforce`)."""

    uuid: Name
    limit_w: Watts | None
    fallback_w: Watts | None


class SetLimits(Message, tag="set_limits", frozen=True):
    """Ask one node's guardian to hold these limits until the lease runs out; also a grant.

    The lease counts from the mint of the echoed nonce, on the node's own boot clock, never from receipt.
    """

    tree: Name
    region: Name
    node: Name
    epoch: Count  # grows with each new leader of the scope
    seq: Count  # grows with each command of that leader
    nonce: Count  # minted by the node once a second
    ttl_s: float  # the guardian refuses one above its dead-man, by name
    limits: tuple[GpuLimit, ...]  # every GPU of the node
    sig: bytes = b""  # reserved for a signature


class Hold(Message, tag="hold", frozen=True):
    """A grant without watts: the guardian keeps what it has and fences older epochs."""

    tree: Name
    region: Name
    node: Name
    epoch: Count
    seq: Count
    nonce: Count
    ttl_s: float
    sig: bytes = b""


class ExitGrant(Message, tag="exit_grant", frozen=True):
    """Leave to restore the baseline: the coordinator has booked it in the sums."""

    tree: Name
    region: Name
    node: Name
    epoch: Count
    seq: Count
    nonce: Count
    ttl_s: float
    gpus: tuple[Name, ...] = ()  # empty: every GPU of the node
    sig: bytes = b""


class GpuAck(Record, frozen=True):
    """What one board holds after a command: requested and enforced as read back, or why it was refused."""

    uuid: Name
    requested_w: Watts | None
    enforced_w: Watts | None
    fallback_w: Watts | None = None
    refused: str | None = None


class LimitAck(Message, tag="limit_ack", frozen=True):
    """The guardian's answer to a command, with every GPU as read back.

    `epoch` and `seq` are the command's; `highest_epoch`, `highest_seq` the highest accepted ever by this node.
    """

    tree: Name
    region: Name
    node: Name
    boot_id: Name
    answers: Literal["set_limits", "hold", "exit_grant"]
    epoch: Count
    seq: Count
    highest_epoch: Count
    highest_seq: Count
    accepted: bool
    refused: str | None  # stale_nonce, stale_seq, wrong_tree, wrong_boot, unknown_gpu, cannot_store, ...
    gpus: tuple[GpuAck, ...]
    t_ns: int
    mono_ns: Count
