"""A world of a few lines: nodes with guardians, and a network that delays, drops, doubles and reorders.

It shares nothing with the ledger but the messages. Time is one clock of seconds; each node's own clock is ahead
of it by an offset of its boot.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

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

MIN_W, MAX_W = 200.0, 700.0
Command = SetLimits | Hold | ExitGrant


@dataclass
class Machine:
    """One node with its guardian; `enforced_w` is what its boards really hold."""

    id: str
    boards: int
    boot: int = 1
    up: bool = True
    alive: bool = True  # the guardian runs; a frozen one has no dead-man
    enforced_w: list[float] = field(default_factory=list)
    fallback_w: list[float | None] = field(default_factory=list)
    baseline_w: list[float | None] = field(default_factory=list)
    fence: tuple[int, int] = (0, 0)
    grant_s: float = -1e9
    stage: int = 0
    leaving_s: float | None = None
    late: int = 0  # commands refused for their age
    unfenced: int = 0  # commands refused for their (epoch, seq)
    stubborn: bool = False  # lowers take no effect while this is set

    def __post_init__(self) -> None:
        self.enforced_w = self.enforced_w or [MAX_W] * self.boards
        self.fallback_w = [None] * self.boards
        self.baseline_w = [None] * self.boards

    @property
    def armed(self) -> bool:
        return any(fallback is not None for fallback in self.fallback_w)

    def uuid(self, board: int) -> str:
        return f"{self.id}/{board}"

    def mono_ns(self, now_s: float) -> int:
        return int((now_s + 1000.0 * self.boot) * 1e9)

    def tick(self, now_s: float) -> None:
        """The dead-man, counted from the mint of the last grant."""
        if not self.up or not self.alive or not self.armed:
            return
        if self.leaving_s is not None and now_s - self.leaving_s > 3.0:
            self._stage_one()
            self.leaving_s, self.alive = None, False
            return
        silent_s = now_s - self.grant_s
        stage = 2 if silent_s >= 60 else 1 if silent_s >= 10 else 0
        self.stage = max(self.stage, stage)
        if self.stage == 1:
            self._stage_one()
        elif self.stage == 2:
            for board, fallback in enumerate(self.fallback_w):
                if fallback is not None:
                    self.enforced_w[board] = fallback

    def _stage_one(self) -> None:
        for board, fallback in enumerate(self.fallback_w):
            if fallback is not None:
                self.enforced_w[board] = min(self.enforced_w[board], fallback)

    def take(self, command: Command, now_s: float) -> LimitAck:
        """What the guardian does with a command at the moment of the write."""
        minted_s = command.nonce / 1e6 - 1000.0 * self.boot
        key, refused = (command.epoch, command.seq), None
        if key <= self.fence:
            self.unfenced += 1
            refused = "stale_epoch" if command.epoch < self.fence[0] else "stale_seq"
        elif not 0 <= now_s - minted_s + 1e-5 < 1000:
            refused = "wrong_boot"
        elif now_s - minted_s > command.ttl_s:
            self.late += 1
            refused = "stale_nonce"
        else:
            self.fence, self.grant_s, self.stage = key, max(self.grant_s, minted_s), 0
            if isinstance(command, SetLimits):
                self._write(command)
            elif isinstance(command, ExitGrant):
                self._restore(command)
        return self._ack(command, refused, now_s)

    def _write(self, command: SetLimits) -> None:
        wanted = {limit.uuid: limit for limit in command.limits}
        falls, rises = [], []
        for board in range(self.boards):
            limit = wanted[self.uuid(board)]
            if limit.limit_w is None:
                self.fallback_w[board] = None
                continue
            assert MIN_W <= limit.limit_w <= MAX_W
            if self.baseline_w[board] is None:
                self.baseline_w[board] = self.enforced_w[board]
            self.fallback_w[board] = limit.fallback_w
            (falls if limit.limit_w < self.enforced_w[board] else rises).append((board, limit.limit_w))
        if self.stubborn and falls:
            return  # not verified: every raise of the message is dropped
        for board, watts in falls + rises:
            self.enforced_w[board] = watts

    def _restore(self, command: ExitGrant) -> None:
        for board in range(self.boards):
            if command.gpus and self.uuid(board) not in command.gpus:
                continue
            baseline = self.baseline_w[board]
            if baseline is not None:
                self.enforced_w[board] = baseline
            self.fallback_w[board] = self.baseline_w[board] = None
        if not command.gpus:
            self.alive, self.leaving_s = False, None

    def _ack(self, command: Command, refused: str | None, now_s: float) -> LimitAck:
        kind = {SetLimits: "set_limits", Hold: "hold", ExitGrant: "exit_grant"}[type(command)]
        return LimitAck(
            tree="site",
            region="r",
            node=self.id,
            boot_id=f"{self.id}-{self.boot}",
            answers=kind,
            epoch=command.epoch,
            seq=command.seq,
            highest_epoch=self.fence[0],
            highest_seq=self.fence[1],
            accepted=refused is None,
            refused=refused,
            gpus=tuple(
                GpuAck(
                    uuid=self.uuid(board),
                    requested_w=self.enforced_w[board],
                    enforced_w=self.enforced_w[board],
                    fallback_w=self.fallback_w[board],
                )
                for board in range(self.boards)
            ),
            t_ns=0,
            mono_ns=self.mono_ns(now_s),
        )

    def state(self, now_s: float) -> NodeState:
        """The heartbeat, with a fresh nonce."""
        return NodeState(
            tree="site",
            region="r",
            node=self.id,
            boot_id=f"{self.id}-{self.boot}",
            nonce=int((now_s + 1000.0 * self.boot) * 1e6),
            highest_epoch=self.fence[0],
            highest_seq=self.fence[1],
            armed=self.armed,
            stage=self.stage,
            leaving=self.leaving_s is not None,
            gpus=tuple(
                GpuState(
                    uuid=self.uuid(board),
                    min_w=MIN_W,
                    max_w=MAX_W,
                    default_w=MAX_W,
                    baseline_w=self.baseline_w[board],
                    requested_w=self.enforced_w[board],
                    enforced_w=self.enforced_w[board],
                    fallback_w=self.fallback_w[board],
                    settable=True,
                    controlled=self.fallback_w[board] is not None,
                )
                for board in range(self.boards)
            ),
            t_ns=0,
            mono_ns=self.mono_ns(now_s),
        )

    def asks_to_leave(self, now_s: float) -> Leaving:
        """A clean stop."""
        return Leaving(
            tree="site",
            region="r",
            node=self.id,
            boot_id=f"{self.id}-{self.boot}",
            nonce=int((now_s + 1000.0 * self.boot) * 1e6),
            reason="stop",
            gpus=tuple(
                LeavingGpu(uuid=self.uuid(board), baseline_w=baseline)
                for board, baseline in enumerate(self.baseline_w)
                if baseline is not None
            ),
            t_ns=0,
            mono_ns=self.mono_ns(now_s),
        )

    def goes_down(self) -> None:
        self.up = False

    def comes_up(self, now_s: float, guarded: bool) -> None:
        """A host comes up uncapped; with a boot guard its guardian acts before any job does."""
        self.up, self.alive, self.boot, self.leaving_s = True, guarded, self.boot + 1, None
        self.enforced_w = [MAX_W] * self.boards
        self.grant_s, self.stage = -1e9, 1
        if guarded:
            self._stage_one()


@dataclass
class Network:
    """Messages under way, each with a moment of arrival; `rough` in 0..1 says how badly it treats them."""

    dice: random.Random
    rough: float
    queue: list[tuple[float, int, Callable[[float], None]]] = field(default_factory=list)
    count: int = 0
    cut: set[str] = field(default_factory=set)

    def send(self, now_s: float, node: str, deliver: Callable[[float], None]) -> None:
        if node in self.cut or self.dice.random() < 0.3 * self.rough:
            return
        copies = 2 if self.dice.random() < 0.2 * self.rough else 1
        for _ in range(copies):
            late_s = (
                self.dice.choice([0.0, 0.0, 0.3, 1.0, 4.0, 8.0, 20.0])
                if self.dice.random() < self.rough
                else 0.0
            )
            self.count += 1
            self.queue.append((now_s + 0.02 + late_s, self.count, deliver))

    def deliver(self, now_s: float) -> None:
        due = sorted((item for item in self.queue if item[0] <= now_s), key=lambda item: item[:2])
        self.queue = [item for item in self.queue if item[0] > now_s]
        if self.dice.random() < self.rough:
            self.dice.shuffle(due)
        for _, _, deliver in due:
            deliver(now_s)
