"""Limits that moved without a command, seen between two states of a guardian."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from easyrider.messages import GpuState, NodeState

Cause = Literal["reverted_to_default", "changed_by_another", "external_cap"]
CHANGE_W = 0.5
"""Less is a driver's rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """One board whose limit moved by itself: what was asked and enforced before, and what is now, in W."""

    uuid: str
    cause: Cause
    requested_before_w: float
    enforced_before_w: float
    requested_w: float
    enforced_w: float


def notice(before: NodeState | None, now: NodeState) -> tuple[Drift, ...]:
    """The drifts between two states. None where a command, the dead-man or a restart may have moved limits.

    A guardian's repair moves the limit down to what it was: that is no drift, so only what rises counts, and
    what an outside cap takes away.
    """
    if before is None or _standing(before) != _standing(now):
        return ()
    earlier = {gpu.uuid: gpu for gpu in before.gpus}
    return tuple(_drifts(earlier, now.gpus))


def _standing(state: NodeState) -> tuple[object, ...]:
    return state.boot_id, state.highest_epoch, state.highest_seq, state.stage, state.leaving, state.armed


def _drifts(earlier: dict[str, GpuState], gpus: tuple[GpuState, ...]) -> Iterator[Drift]:
    for gpu in gpus:
        was = earlier.get(gpu.uuid)
        if was is None or not gpu.controlled or gpu.requested_w is None or gpu.enforced_w is None:
            continue
        if was.requested_w is None or was.enforced_w is None:
            continue
        cause = _cause(was.requested_w, was.enforced_w, gpu.requested_w, gpu.enforced_w, gpu.default_w)
        if cause is not None:
            yield Drift(
                uuid=gpu.uuid,
                cause=cause,
                requested_before_w=was.requested_w,
                enforced_before_w=was.enforced_w,
                requested_w=gpu.requested_w,
                enforced_w=gpu.enforced_w,
            )


def _cause(
    requested_before_w: float,
    enforced_before_w: float,
    requested_w: float,
    enforced_w: float,
    default_w: float,
) -> Cause | None:
    if max(requested_w, enforced_w) > max(requested_before_w, enforced_before_w) + CHANGE_W:
        reverted = abs(max(requested_w, enforced_w) - default_w) <= CHANGE_W
        return "reverted_to_default" if reverted else "changed_by_another"
    if enforced_w < min(requested_w, enforced_before_w) - CHANGE_W:
        return "external_cap"
    return None
