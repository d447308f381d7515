"""What a node's guardian knows of itself."""

from typing import Literal

from easyrider.messages.base import Count, Message, Name, Record, Watts


class GpuState(Record, frozen=True):
    """One board: its range, what is asked of it and what it enforces."""

    uuid: Name
    min_w: Watts
    max_w: Watts
    default_w: Watts
    baseline_w: Watts | None  # requested limit found before the first write; nil while never armed
    requested_w: Watts | None
    enforced_w: Watts | None  # nil: could not be read
    fallback_w: Watts | None  # in force for the dead-man; nil: none
    settable: bool
    controlled: bool  # armed: its last accepted entry carried watts


class NodeState(Message, tag="node_state", frozen=True):
    """Once a second and on change: nonce to echo, highest accepted command, dead-man stage, every board."""

    tree: Name
    region: Name
    node: Name
    boot_id: Name
    nonce: Count
    highest_epoch: Count
    highest_seq: Count
    armed: bool
    stage: Literal[0, 1, 2]
    leaving: bool
    gpus: tuple[GpuState, ...]
    t_ns: int
    mono_ns: Count
    held: bool = False  # an operator told this guardian to take no raise


class LeavingGpu(Record, frozen=True):
    """One board that wants its baseline back."""

    uuid: Name
    baseline_w: Watts


class Leaving(Message, tag="leaving", frozen=True):
    """A clean stop asks for leave to restore; repeated until an `ExitGrant` or 3 s pass."""

    tree: Name
    region: Name
    node: Name
    boot_id: Name
    nonce: Count
    reason: str
    gpus: tuple[LeavingGpu, ...]
    t_ns: int
    mono_ns: Count
