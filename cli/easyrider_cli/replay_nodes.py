"""Nodes as a recording knows them, under the limits of a replay: what they would have said instead.

A board that a replayed command holds reports that limit, and draws at most it: where the recording shows it bound by
its own limit, the draw moves with the limit; where it was not bound, it is cut off at the new one. A limit above the
recorded one shows nothing new, since what the board would have drawn is not in the recording.
"""

import hashlib
from dataclasses import dataclass, field

import msgspec
import numpy as np
from numpy.typing import NDArray

from easyrider.frame_view import replaced, view
from easyrider.messages import ExitGrant, GpuAck, GpuState, Hold, LimitAck, NodeFrame, NodeState, SetLimits

Floats = NDArray[np.float64]
BOUND_SHARE = 0.97
"""A board that draws so much of its limit is taken to be bound by it."""


@dataclass(frozen=True, slots=True)
class Held:
    """What a replayed command left in force on one board, W."""

    limit_w: float
    fallback_w: float | None


@dataclass(slots=True)
class ReplayedNode:
    """One node: the newest recorded state, and what the replay's commands changed about it."""

    state: NodeState
    arrived_ns: int
    key: tuple[int, int] | None = None
    held: dict[str, Held] = field(default_factory=dict)
    uuids: list[str] = field(default_factory=list)  # columns of its frames
    cut_w: Floats = field(default_factory=lambda: np.zeros(0))  # of each board's draw, newest row

    def heard(self, state: NodeState, arrived_ns: int) -> NodeState:
        """The recorded state as it would have been."""
        self.state, self.arrived_ns = state, arrived_ns
        if self.key is None:
            return state
        return msgspec.structs.replace(
            state,
            highest_epoch=self.key[0],
            highest_seq=self.key[1],
            armed=bool(self.held),
            stage=0,
            gpus=tuple(map(self._board, state.gpus)),
        )

    def take(self, command: SetLimits | Hold | ExitGrant, now_ns: int) -> LimitAck:
        """The answer to a replayed command, given at once."""
        fresh = (command.epoch, command.seq) > (self.key or (-1, -1))
        if fresh:
            self.key = (command.epoch, command.seq)
            self._obey(command)
        answers = {SetLimits: "set_limits", Hold: "hold", ExitGrant: "exit_grant"}[type(command)]
        key = self.key or (0, 0)
        boards = [self._board(board) for board in self.state.gpus]
        return LimitAck(
            tree=command.tree,
            region=command.region,
            node=command.node,
            boot_id=self.state.boot_id,
            answers=answers,  # type: ignore[arg-type]
            epoch=command.epoch,
            seq=command.seq,
            highest_epoch=key[0],
            highest_seq=key[1],
            accepted=fresh,
            refused=None if fresh else "stale_seq",
            gpus=tuple(
                GpuAck(
                    uuid=board.uuid,
                    requested_w=board.requested_w,
                    enforced_w=board.enforced_w,
                    fallback_w=board.fallback_w,
                )
                for board in boards
            ),
            t_ns=self.state.t_ns,
            mono_ns=self.state.mono_ns + now_ns - self.arrived_ns,
        )

    def frame(self, frame: NodeFrame) -> NodeFrame:
        """The recorded samples as they would have been. Raises `WrongField`, `NotFinite`."""
        columns = self.columns(frame)
        self.cut_w = np.zeros(frame.gpu_count)
        if len(columns) != frame.gpu_count or not frame.samples or not self.held:
            return frame
        shown = view(frame)
        recorded_w = np.asarray(shown.limit_w.filled(0.0), dtype=np.float64)
        held_w = np.array([self.held[u].limit_w if u in self.held else np.nan for u in columns])
        limit_w = np.where(np.isnan(held_w) | (recorded_w == 0.0), recorded_w, held_w)
        mean_w = np.asarray(shown.mean_w.filled(0.0), dtype=np.float64)
        drawn_w = _drawn(mean_w, recorded_w, limit_w)
        self.cut_w = mean_w[-1] - drawn_w[-1]
        power_w = _drawn(np.asarray(shown.power_w.filled(0.0), dtype=np.float64), recorded_w, limit_w)
        return replaced(frame, power_w=power_w, mean_w=drawn_w, limit_w=limit_w)

    def columns(self, frame: NodeFrame) -> list[str]:
        """UUIDs of a frame's columns; empty while no frame has said them and the state's order is another."""
        if frame.gpus:
            self.uuids = frame.gpus.split(",")
        elif not self.uuids:
            told = [board.uuid for board in self.state.gpus]
            if hashlib.sha256(",".join(told).encode()).digest()[:8] == frame.gpus_hash:
                self.uuids = told
        return self.uuids

    def limit_w(self, uuid: str) -> float | None:
        """The limit a board would be under; None: as recorded."""
        held = self.held.get(uuid)
        return None if held is None else held.limit_w

    def _obey(self, command: SetLimits | Hold | ExitGrant) -> None:
        if isinstance(command, SetLimits):
            for limit in command.limits:
                if limit.limit_w is not None:
                    self.held[limit.uuid] = Held(limit.limit_w, limit.fallback_w)
        elif isinstance(command, ExitGrant):
            for uuid in command.gpus or tuple(self.held):
                self.held.pop(uuid, None)

    def _board(self, board: GpuState) -> GpuState:
        held = self.held.get(board.uuid)
        if held is None:
            return board
        limit_w = round(held.limit_w, 3)  # whole milliwatts, as the driver keeps them
        return msgspec.structs.replace(
            board,
            requested_w=limit_w,
            enforced_w=limit_w,
            fallback_w=held.fallback_w,
            controlled=True,
            baseline_w=board.baseline_w if board.baseline_w is not None else board.default_w,
        )


def _drawn(recorded_w: Floats, recorded_limit_w: Floats, limit_w: Floats) -> Floats:
    bound = (recorded_limit_w > 0) & (recorded_w >= BOUND_SHARE * recorded_limit_w)
    ratio = np.divide(limit_w, recorded_limit_w, out=np.ones_like(limit_w), where=recorded_limit_w > 0)
    moved_w = np.where(bound, recorded_w * ratio, np.minimum(recorded_w, limit_w))
    return np.where(limit_w < recorded_limit_w, moved_w, recorded_w)
