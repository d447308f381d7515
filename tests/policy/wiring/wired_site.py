"""A coordinator wired to a bus and a store in memory, and boxes that answer like guardians; time is handed in."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from wired_box import REGION, TREE, Box, at, job, reading

from easyrider import subjects, wire
from easyrider.journal import Entry, Journal
from easyrider.messages import (
    ExitGrant,
    Hold,
    SetLimits,
)
from easyrider.testing import FakeBus, FakeStore
from easyrider.tree import Domain, ModeRule, Node, NodeClass, Rules
from easyrider_policy.clocks import Clocks
from easyrider_policy.coordinator import Coordinator
from easyrider_policy.handlers import Desk
from easyrider_policy.leadership import Leadership
from easyrider_policy.loop import Loop
from easyrider_policy.news import News
from easyrider_policy.picture import Picture
from easyrider_policy.scribe import Scribe

BOX = NodeClass(overhead_w=100.0, overhead_slope=1.0, gpu_min_w=200.0, gpu_max_w=700.0, gpu_count=2)
TICK_S = 0.1


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
        from easyrider.journal import JournalBroken

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

    def publish_together(self, words: Sequence[tuple[str, Any]]) -> bool:
        said = super().publish_together(words)
        self.log += [type(message).__name__ for _, message in words if said]
        return said


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


def with_modes(known: Rules, mode: str, version: int, override: str = "") -> Rules:
    """The same tree in another mode; `override`: why its gate is passed over."""
    rule = ModeRule(selector={"node": ("*",)}, mode=mode, override=override)
    return replace(known, version=version, modes=(rule,))
