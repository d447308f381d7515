"""What the nodes of a hall say to the product: states once a second, an answer to each command once it is in force.

The hall delays limits on their way; a node answers when the limits read back are those of the command, and not before
every command sent earlier has had its time, so that an answer never speaks of limits which are still to land.
"""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from easyrider.messages import GpuAck, GpuState, Hold, LimitAck, NodeState, SetLimits
from easyrider_bench.controllers.contract import Floats, Ints, Site
from easyrider_bench.controllers.declared import TREE

REGION = "local"
BOOT = "boot-1"
SAME_W = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A command on its way, and the limits that show it is in force."""

    command: SetLimits | Hold
    sent_s: float
    limit_w: Floats


@dataclass(slots=True)
class Guardian:
    """One node: what it was told last and what is still on its way to it."""

    epoch: int = 0
    seq: int = 0
    nonce: int = 0
    asked_w: Floats = field(default_factory=lambda: np.zeros(0))
    fallback_w: list[float | None] = field(default_factory=list)
    flight: deque[Sent] = field(default_factory=deque)

    @property
    def armed(self) -> bool:
        """Whether any command with watts was obeyed."""
        return any(watts is not None for watts in self.fallback_w)


class Guardians:
    """All nodes of one hall. `enforced_w` (G,) is always what was read back just now."""

    def __init__(self, site: Site) -> None:
        self._site, self._longest_s = site, site.command_delay_s[1]
        self.boards: list[Ints] = [np.flatnonzero(site.node_of == node) for node in range(len(site.node_ids))]
        self.uuids = tuple(f"GPU-{board:05d}" for board in range(site.gpus))
        self._nodes = {name: node for node, name in enumerate(site.node_ids)}
        self._said = [
            Guardian(asked_w=site.max_w[rows].copy(), fallback_w=[None] * len(rows)) for rows in self.boards
        ]
        self._acked: dict[int, tuple[bytes, tuple[GpuAck, ...]]] = {}
        self._shown: dict[int, tuple[bytes, tuple[GpuState, ...]]] = {}

    def take(self, command: SetLimits | Hold, now_s: float) -> None:
        """A command leaves for its node."""
        guardian = self._said[self._nodes[command.node]]
        if isinstance(command, SetLimits):
            told = zip(command.limits, guardian.asked_w.tolist(), strict=True)
            guardian.asked_w = np.array([kept if e.limit_w is None else e.limit_w for e, kept in told])
        guardian.flight.append(Sent(command=command, sent_s=now_s, limit_w=guardian.asked_w))

    def asked_w(self) -> Floats:
        """(G,) what the newest command to each node asks for."""
        asked_w = np.zeros(self._site.gpus)
        for rows, guardian in zip(self.boards, self._said, strict=True):
            asked_w[rows] = guardian.asked_w
        return asked_w

    def answers(self, now_s: float, enforced_w: Floats) -> list[LimitAck]:
        """Of every command that has come into force since; of several at once the newest."""
        found = []
        for node, guardian in enumerate(self._said):
            landed = self._landed(guardian, now_s, enforced_w[self.boards[node]])
            if landed is not None:
                found.append(self._ack(node, landed, now_s, enforced_w))
        return found

    def state(self, node: int, now_s: float, enforced_w: Floats) -> NodeState:
        """What a guardian says once a second, with a new nonce."""
        guardian = self._said[node]
        guardian.nonce += 1
        return NodeState(
            tree=TREE, region=REGION, node=self._site.node_ids[node], boot_id=BOOT, nonce=guardian.nonce,
            highest_epoch=guardian.epoch, highest_seq=guardian.seq, armed=guardian.armed, stage=0, leaving=False,
            gpus=self._states(node, enforced_w), t_ns=round(now_s * 1e9), mono_ns=round(now_s * 1e9),
        )  # fmt: skip

    def _landed(self, guardian: Guardian, now_s: float, enforced_w: Floats) -> SetLimits | Hold | None:
        flight, newest = guardian.flight, None
        while flight:
            first = flight[0]
            there = bool((np.abs(first.limit_w - enforced_w) <= SAME_W).all())
            # What came after it may be in force already, and then it was too.
            if not there and now_s - first.sent_s < self._longest_s - 1e-9:
                break
            flight.popleft()
            command = first.command
            guardian.epoch, guardian.seq = command.epoch, command.seq
            if isinstance(command, SetLimits):
                guardian.fallback_w = [
                    kept if entry.limit_w is None else entry.fallback_w
                    for entry, kept in zip(command.limits, guardian.fallback_w, strict=True)
                ]
            newest = command
        return newest

    def _ack(self, node: int, command: SetLimits | Hold, now_s: float, enforced_w: Floats) -> LimitAck:
        guardian = self._said[node]
        return LimitAck(
            tree=TREE, region=REGION, node=self._site.node_ids[node], boot_id=BOOT,
            answers="set_limits" if isinstance(command, SetLimits) else "hold", epoch=command.epoch, seq=command.seq,
            highest_epoch=guardian.epoch, highest_seq=guardian.seq, accepted=True, refused=None,
            gpus=self._acks(node, enforced_w), t_ns=round(now_s * 1e9), mono_ns=round(now_s * 1e9),
        )  # fmt: skip

    def _acks(self, node: int, enforced_w: Floats) -> tuple[GpuAck, ...]:
        guardian, rows = self._said[node], self.boards[node]
        key = enforced_w[rows].tobytes() + repr(guardian.fallback_w).encode()
        if node not in self._acked or self._acked[node][0] != key:
            cells = zip(rows.tolist(), enforced_w[rows].tolist(), guardian.fallback_w, strict=True)
            boards = tuple(
                GpuAck(uuid=self.uuids[row], requested_w=watts, enforced_w=watts, fallback_w=back_w)
                for row, watts, back_w in cells
            )
            self._acked[node] = (key, boards)
        return self._acked[node][1]

    def _states(self, node: int, enforced_w: Floats) -> tuple[GpuState, ...]:
        guardian, rows, site = self._said[node], self.boards[node], self._site
        key = enforced_w[rows].tobytes() + repr(guardian.fallback_w).encode()
        if node not in self._shown or self._shown[node][0] != key:
            cells = zip(rows.tolist(), enforced_w[rows].tolist(), guardian.fallback_w, strict=True)
            boards = tuple(
                GpuState(
                    uuid=self.uuids[row], min_w=float(site.min_w[row]), max_w=float(site.max_w[row]),
                    default_w=float(site.max_w[row]), baseline_w=float(site.max_w[row]) if back_w is not None else None,
                    requested_w=watts, enforced_w=watts, fallback_w=back_w, settable=True,
                    controlled=back_w is not None,
                )
                for row, watts, back_w in cells
            )  # fmt: skip
            self._shown[node] = (key, boards)
        return self._shown[node][1]
