"""The messages a guardian has the actuator say: its state, its answers, its wish to leave."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from easyrider.messages import (
    ExitGrant,
    GpuAck,
    GpuState,
    Hold,
    Leaving,
    LeavingGpu,
    LimitAck,
    NodeState,
    SetLimits,
)
from easyrider_guardian.core import deadman
from easyrider_guardian.core.fence import Command
from easyrider_guardian.core.records import Baseline, Reading, Standing, Terms

_ANSWERS: dict[type[Command], Literal["set_limits", "hold", "exit_grant"]] = {
    SetLimits: "set_limits",
    Hold: "hold",
    ExitGrant: "exit_grant",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """One board as the guardian sees it now. `reading` None: it does not answer; `last` is the last it told."""

    uuid: str
    reading: Reading | None
    last: Reading | None
    settable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When something is said: Unix time for people, monotonic time for the age of it, and the nonce to echo."""

    t_ns: int
    mono_ns: int
    nonce: int


def node_state(
    standing: Standing,
    terms: Terms,
    boards: Mapping[str, Known],
    baselines: Mapping[str, Baseline] | None,
    leaving: bool,
    moment: Moment,
    held: bool = False,
) -> NodeState:
    """The state of the node, every board that is known in it."""
    found = baselines or {}
    gpus = (gpu_state(board, standing, terms, found.get(uuid)) for uuid, board in boards.items())
    return NodeState(
        tree=terms.tree,
        region=terms.region,
        node=terms.node,
        boot_id=standing.boot_id,
        nonce=moment.nonce,
        highest_epoch=standing.epoch,
        highest_seq=standing.seq,
        armed=baselines is not None,
        stage=standing.stage,
        leaving=leaving,
        held=held,
        gpus=tuple(gpu for gpu in gpus if gpu is not None),
        t_ns=moment.t_ns,
        mono_ns=moment.mono_ns,
    )


def gpu_state(board: Known, standing: Standing, terms: Terms, found: Baseline | None) -> GpuState | None:
    """One board; one that never answered is told of by what was stored of it, and not at all without that."""
    known = board.last or found
    if known is None:
        return None
    held = standing.holdings.get(board.uuid)
    controlled = held is not None and held.controlled
    return GpuState(
        uuid=board.uuid,
        min_w=known.min_w,
        max_w=known.max_w,
        default_w=known.default_w,
        baseline_w=None if found is None else found.requested_w,
        requested_w=None if board.reading is None else board.reading.requested_w,
        enforced_w=None if board.reading is None else board.reading.enforced_w,
        fallback_w=_fallback_w(board, standing, terms),
        settable=board.settable,
        controlled=controlled,
    )


def limit_ack(
    command: Command,
    standing: Standing,
    terms: Terms,
    boards: Mapping[str, Known],
    refused: str | None,
    accepted: bool,
    refusals: Mapping[str, str],
    moment: Moment,
) -> LimitAck:
    """The answer to a command. `refusals` by UUID may name boards that are not here."""
    gpus = [
        GpuAck(
            uuid=uuid,
            requested_w=None if board.reading is None else board.reading.requested_w,
            enforced_w=None if board.reading is None else board.reading.enforced_w,
            fallback_w=_fallback_w(board, standing, terms),
            refused=refusals.get(uuid),
        )
        for uuid, board in boards.items()
    ]
    gpus += [
        GpuAck(uuid=uuid, requested_w=None, enforced_w=None, refused=why)
        for uuid, why in refusals.items()
        if uuid not in boards
    ]
    return LimitAck(
        tree=terms.tree,
        region=terms.region,
        node=terms.node,
        boot_id=standing.boot_id,
        answers=_ANSWERS[type(command)],
        epoch=command.epoch,
        seq=command.seq,
        highest_epoch=standing.epoch,
        highest_seq=standing.seq,
        accepted=accepted,
        refused=refused,
        gpus=tuple(gpus),
        t_ns=moment.t_ns,
        mono_ns=moment.mono_ns,
    )


def leaving(
    standing: Standing, terms: Terms, baselines: Mapping[str, Baseline], reason: str, moment: Moment
) -> Leaving:
    """The wish to restore what was found: the coordinator books it before it grants it."""
    return Leaving(
        tree=terms.tree,
        region=terms.region,
        node=terms.node,
        boot_id=standing.boot_id,
        nonce=moment.nonce,
        reason=reason,
        gpus=tuple(LeavingGpu(uuid=uuid, baseline_w=found.requested_w) for uuid, found in baselines.items()),
        t_ns=moment.t_ns,
        mono_ns=moment.mono_ns,
    )


def _fallback_w(board: Known, standing: Standing, terms: Terms) -> float | None:
    held = standing.holdings.get(board.uuid)
    if held is None or not held.controlled:
        return None
    if board.last is None:
        return held.fallback_w if held.fallback_w is not None else terms.fallback_w
    return deadman.fallback_w(held, terms, board.last)
