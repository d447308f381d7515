"""A coordinator wired to a bus and a store in memory, and boxes that answer like guardians; time is handed in."""

import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from easyrider import subjects, wire
from easyrider.bus_port import Arrival
from easyrider.messages import (
    ExitGrant,
    GpuAck,
    GpuState,
    Hold,
    JobEvent,
    LimitAck,
    MeterReading,
    NodeFrame,
    NodeState,
    SetLimits,
)
from easyrider.testing import FakeBus, FakeStore
from easyrider.tree import Domain, ModeRule, Node, NodeClass, Rules
from easyrider_policy.adapters.journal import Entry, Journal
from easyrider_policy.coordinator import Coordinator
from easyrider_policy.handlers import Desk
from easyrider_policy.leadership import Leadership
from easyrider_policy.loop import Clocks, Loop
from easyrider_policy.news import News
from easyrider_policy.picture import Picture
from easyrider_policy.scribe import Scribe

REGION, TREE = "r", "site"
BOX = NodeClass(overhead_w=100.0, overhead_slope=1.0, gpu_min_w=200.0, gpu_max_w=700.0, gpu_count=2)
TICK_S = 0.1
BEHIND_S = 900.0
"""The boxes' clocks show so much less than ours."""


def rules(version: int = 1, mode: str = "enforce", pdu_w: float = 2400.0, **of_pdu: Any) -> Rules:
    """A UPS of five modules above a PDU with the nodes `a` and `b`, two boards each, fallback 250 W."""
    pdu = {"meters": ("m",), "target_w": 0.95 * pdu_w, **of_pdu}
    return Rules(
        id=TREE,
        version=version,
        domains=(
            Domain(id="ups", kind="ups", rating_w=6000.0, supply_modules=5),
            Domain(id="pdu", kind="pdu", parent="ups", rating_w=pdu_w, **pdu),
        ),
        classes={"box": BOX},
        nodes=tuple(Node(id=n, domain="pdu", node_class="box", fallback_w_per_gpu=250.0) for n in "ab"),
        modes=(ModeRule(selector={"node": ("*",)}, mode=mode),),
    )


@dataclass
class Box:
    """A node: its guardian takes what is newer than what it took, and its boards draw what they may."""

    name: str
    limit_w: list[float] = field(default_factory=lambda: [700.0, 700.0])
    draw_w: list[float] = field(default_factory=lambda: [600.0, 600.0])
    fallback_w: float | None = None
    key: tuple[int, int] = (0, 0)
    boot: str = "boot-1"
    seq: int = 0
    deaf: bool = False
    dumb: bool = False

    @property
    def uuids(self) -> list[str]:
        return [f"{self.name}{i}" for i in (0, 1)]

    def state(self, now_s: float, **other: Any) -> NodeState:
        gpus = tuple(
            GpuState(
                uuid=uuid, min_w=200.0, max_w=700.0, default_w=700.0, requested_w=watts, enforced_w=watts,
                baseline_w=None if self.fallback_w is None else 700.0, fallback_w=self.fallback_w,
                settable=True, controlled=self.fallback_w is not None,
            )
            for uuid, watts in zip(self.uuids, self.limit_w, strict=True)
        )  # fmt: skip
        told: dict[str, Any] = {
            "tree": TREE, "region": REGION, "node": self.name, "boot_id": self.boot, "nonce": int(now_s * 10),
            "highest_epoch": self.key[0], "highest_seq": self.key[1], "armed": self.fallback_w is not None,
            "stage": 0, "leaving": False, "gpus": gpus, "t_ns": 0, "mono_ns": mono_ns(now_s),
        }  # fmt: skip
        return NodeState(**{**told, **other})

    def frame(self, now_s: float, **other: Any) -> NodeFrame:
        self.seq += 1
        draw_w = np.minimum(self.draw_w, self.limit_w)
        told = {"mono_ns": mono_ns(now_s), "boot_id": self.boot, "seq": self.seq, **other}
        return frame(self.name, self.uuids, [draw_w], [self.limit_w], **told)

    def take(self, command: SetLimits | Hold | ExitGrant, now_s: float) -> LimitAck:
        """What the guardian answers."""
        key = (command.epoch, command.seq)
        fresh = key > self.key
        if fresh:
            self.key = key
            if isinstance(command, SetLimits):
                self.limit_w = [limit.limit_w for limit in command.limits]
                self.fallback_w = command.limits[0].fallback_w
        kinds = {SetLimits: "set_limits", Hold: "hold", ExitGrant: "exit_grant"}
        return LimitAck(
            tree=TREE, region=REGION, node=self.name, boot_id=self.boot, answers=kinds[type(command)],
            epoch=key[0], seq=key[1], highest_epoch=self.key[0], highest_seq=self.key[1], accepted=fresh,
            refused=None if fresh else "stale_seq", t_ns=0, mono_ns=mono_ns(now_s),
            gpus=tuple(
                GpuAck(uuid=uuid, requested_w=watts, enforced_w=watts, fallback_w=self.fallback_w)
                for uuid, watts in zip(self.uuids, self.limit_w, strict=True)
            ),
        )  # fmt: skip


def mono_ns(now_s: float) -> int:
    """What a box's clock shows."""
    return int((now_s - BEHIND_S) * 1e9)


def at(subject: str, now_s: float) -> Arrival:
    """It comes now."""
    return Arrival(subject, int(now_s * 1e9))


def frame(
    node: str, uuids: list[str], draws_w: Any, limits_w: Any, gpus: str = "", **other: Any
) -> NodeFrame:
    """Rows of (gpu,) watts, 100 ms apart, the last one now."""
    draw, limit = np.array(draws_w, dtype="<f4"), np.array(limits_w)
    count, width = draw.shape
    good = bytes(count * width)
    told: dict[str, Any] = {
        "region": REGION, "node": node, "boot_id": "boot-1", "seq": 1, "t_ns": 0, "samples": count,
        "gpu_count": width, "gpus": gpus, "gpus_hash": hashlib.sha256(",".join(uuids).encode()).digest()[:8],
        "window_s": 0.1, "refresh_s": 0.1, "energy_mj": bytes(8 * count * width), "energy_ok": good,
        "before_us": np.arange(count - 1, -1, -1, dtype="<u4").__mul__(100_000).astype("<u4").tobytes(),
        "power_w": draw.tobytes(), "power_ok": good, "mean_w": draw.tobytes(), "mean_ok": good,
        "limit_mw": (limit * 1000).astype("<u4").tobytes(), "limit_ok": good, "age_ms": bytes(2 * count * width),
        **dict.fromkeys(
            ("temperature_c", "util_pct", "sm_mhz", "mem_mhz", "reasons", "memory_mb", "mean10_w", "max10_w",
             "slow_ok"), b""),
        "rejected": 0, "cpu_pct": 0.0, "net_rx_bytes_per_s": 0.0, "net_tx_bytes_per_s": 0.0,
    }  # fmt: skip
    return NodeFrame(**{**told, **other})


def reading(now_s: float, power_w: float | None = 2000.0, **other: Any) -> MeterReading:
    """Of meter `m` on the PDU."""
    told: dict[str, Any] = {
        "region": REGION, "meter": "m", "domain": "pdu", "boot_id": "bridge-1", "seq": 1, "t_ns": 0,
        "mono_ns": mono_ns(now_s), "period_s": 1.0, "device": "power_meter", "quality": "good", "gated": True,
        "power_w": power_w,
    }  # fmt: skip
    return MeterReading(**{**told, **other})


def job(now_s: float, node: str = "a", **other: Any) -> JobEvent:
    """A job on both boards of a node."""
    told: dict[str, Any] = {
        "region": REGION, "node": node, "boot_id": "boot-1", "job": "j1", "change": "started",
        "type_key": "llm", "priority_class": "", "tenant": "", "queue": "", "gpus": (f"{node}0", f"{node}1"),
        "started_ns": 0, "t_ns": 0, "mono_ns": mono_ns(now_s),
    }  # fmt: skip
    return JobEvent(**{**told, **other})


class HandClock(Clocks):
    """Shows what the test says; `slips_s`: how much passes with each look at it."""

    def __init__(self, now_s: float) -> None:
        self.at_s, self.slips_s = now_s, 0.0

    def now_s(self) -> float:
        self.at_s += self.slips_s
        return self.at_s

    def boot_ns(self) -> int:
        return int(self.at_s * 1e9)

    def stamps_ns(self) -> tuple[int, int]:
        return 0, int(self.at_s * 1e9)


class Lines(Journal):
    """A journal in memory; `broken`: why it takes nothing. `log` says in which order things happened."""

    def __init__(self, log: list[str]) -> None:
        super().__init__(Path("/nowhere"))
        self.log, self.kept, self.broken = log, [], ""

    def _write(self, entries: Any, durable: bool) -> None:
        from easyrider_policy.adapters.journal import JournalBroken

        if self.broken:
            raise JournalBroken(self.path, self.broken)
        self.kept += entries
        self.log += ["durable" if durable else "noted"]

    def of(self, what: str) -> list[Entry]:
        return [entry for entry in self.kept if entry["what"] == what]


class LoggingBus(FakeBus):
    """Says into the same log as the journal."""

    log: list[str]

    async def publish(self, subject: str, message: Any) -> None:
        await super().publish(subject, message)
        self.log.append(type(message).__name__)


class Wired:
    """Everything of one coordinator but the sockets. `second(n)` lets n seconds pass in looks of 100 ms."""

    def __init__(self, with_rules: Rules | None = None, now_s: float = 1000.0, owner: str = "me") -> None:
        self.clock = HandClock(now_s)
        self.log: list[str] = []
        self.store = FakeStore(now_s=lambda: self.clock.at_s)
        self.bus = LoggingBus()
        self.bus.log = self.log
        self.picture = Picture(with_rules or rules(), REGION, now_s)
        self.coordinator = Coordinator(self.picture)
        self.journal = Lines(self.log)
        self.scribe = Scribe(self.journal, self.clock.boot_ns)
        self.news = News(self.bus, self.coordinator, REGION, self.scribe.note)
        self.loop = Loop(self.coordinator, self.bus, self.scribe, self.news, tick_s=TICK_S, clocks=self.clock)
        self.desk = Desk(self.picture, self.coordinator, self.scribe.note, self.scribe.meant)
        self.fit = True
        self.leadership = Leadership(
            self.store, self.picture, TREE, REGION, owner, lambda: self.clock.at_s, lambda: self.fit
        )
        self.boxes = {name: Box(name) for name in "ab"}
        self.metered = False
        self.running: dict[str, tuple[str, ...]] = {}
        self._looks = 0

    @property
    def now_s(self) -> float:
        return self.clock.at_s

    def said(self, kind: type[Any], since: int = 0) -> list[Any]:
        """Messages of a kind on the bus so far, from the `since`th on."""
        tag = wire.kind_of(kind)
        subject = {"plan": subjects.plan(REGION)}.get(tag)
        found = []
        for where, body in self.bus.exchange.said[since:]:
            commands = subjects.covers(subjects.everything(), where) and ".command." in where
            if (subject is None and commands) or where == subject:
                message = wire.decode(body, (SetLimits, Hold, ExitGrant) if commands else (kind,))
                if isinstance(message, kind):
                    found.append(message)
        return found

    def wall_w(self) -> float:
        """What the meter of the PDU shows."""
        return sum(100.0 + sum(map(min, box.draw_w, box.limit_w)) for box in self.boxes.values())

    async def look(self) -> None:
        """100 ms: boxes and meters speak as they are due, one look, and the boxes' answers."""
        self.clock.at_s += TICK_S
        now_s, second = self.now_s, self._looks % 10 == 0
        for box in self.boxes.values():
            if box.dumb:
                continue
            if second:
                self.desk.on_state(box.state(now_s), at(subjects.state(REGION, box.name), now_s))
            self.desk.on_frame(box.frame(now_s), at(subjects.frame(REGION, box.name), now_s))
        if second and self.metered:
            self.desk.on_meter(reading(now_s, self.wall_w()), at(subjects.meter(REGION, "m"), now_s))
        if second:
            await self.leadership.once(now_s)
        if self._looks % 100 == 99:
            for name, nodes in self.running.items():
                self.starts(name, *nodes, change="running")
        self._looks += 1
        before = len(self.bus.exchange.said)
        await self.loop.once(now_s)
        self.loop.looked_s = now_s
        for kind in (SetLimits, Hold, ExitGrant):
            for command in self.said(kind, before):
                box = self.boxes[command.node]
                if not (box.deaf or box.dumb):
                    self.desk.on_ack(box.take(command, now_s), at(subjects.ack(REGION, box.name), now_s))

    async def seconds(self, count: float) -> None:
        for _ in range(round(count / TICK_S)):
            await self.look()

    def starts(self, name: str = "j1", *nodes: str, change: str = "started") -> None:
        """A job starts on both boards of these nodes."""
        self.running[name] = nodes = nodes or ("a",)
        for node in nodes:
            event = job(self.now_s, node, job=name, change=change)
            self.desk.on_job(event, at(subjects.job(REGION, name), self.now_s))


def with_modes(known: Rules, mode: str, version: int) -> Rules:
    """The same tree in another mode."""
    return replace(known, version=version, modes=(ModeRule(selector={"node": ("*",)}, mode=mode),))
