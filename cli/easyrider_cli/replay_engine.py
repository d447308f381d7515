"""A recorded stretch through the planner again: no clock, no bus; the recorder's arrival times are the time.

The same recording and rules give the same decisions, to the byte. The coordinator is the product's own; nodes answer
as `replay_nodes` tells.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import msgspec
import numpy as np

from easyrider import cloudevents, subjects, wire
from easyrider.bus_port import Arrival
from easyrider.errors import MalformedMessage
from easyrider.event_kinds import Drift, EventMisfit, Xid
from easyrider.frame_view import view
from easyrider.messages import (
    Budget,
    Demand,
    JobEvent,
    Leaving,
    LimitAck,
    MeterReading,
    NodeFrame,
    NodeState,
    Plan,
    PowerForecast,
)
from easyrider.tree import Rules
from easyrider_cli.replay_lease import ReplayedLease
from easyrider_cli.replay_nodes import ReplayedNode
from easyrider_policy.coordinator import Coordinator, Look
from easyrider_policy.core.plan import plan
from easyrider_policy.core.policies import Planner
from easyrider_policy.handlers import Desk
from easyrider_policy.picture import Picture
from easyrider_policy.telling import tell
from easyrider_recorder.core.framing import Record

LOOK_NS = 50_000_000
LISTEN_S = 1.2
"""As a coordinator that starts: by then every node has said the highest epoch it knows."""
_TAKEN = (NodeFrame, NodeState, Leaving, MeterReading, JobEvent, PowerForecast, Plan, Demand, Budget)
_KINDS = ("frame", "state", "meter", "job", "forecast", "plan", "demand", "budget")


@dataclass(slots=True)
class Told:
    """What a replay saw: plans as recorded and as replayed, by seconds since its start, and limits of boards."""

    recorded: list[tuple[float, Plan]] = field(default_factory=list)
    replayed: list[tuple[float, Plan]] = field(default_factory=list)
    limits_w: list[tuple[float, dict[str, tuple[float, float]]]] = field(
        default_factory=list
    )  # recorded, replayed
    job_boards: dict[str, int] = field(default_factory=dict)
    messages: int = 0
    malformed: int = 0
    commands: int = 0
    decisions_sha256: str = ""
    began_unix_ns: int = 0
    length_s: float = 0.0
    leading_s: float | None = None  # from then on limits may rise


class Replay:
    """One run. Feed it records in order, then `close`."""

    def __init__(self, rules: Rules, region: str, planner: Planner = plan) -> None:
        self._rules, self._region, self._planner = rules, region, planner
        self.told = Told()
        self._digest = hashlib.sha256()
        self._nodes: dict[str, ReplayedNode] = {}
        self._recorded_w: dict[str, float] = {}
        self._picture: Picture | None = None
        self._began_ns = self._due_ns = self._said_ns = 0
        self._unix_after_mono_ns = 0
        self._seq = 0

    def adopt(self, rules: Rules) -> None:
        """Newer rules come into force."""
        self._rules = rules
        if self._picture is not None:
            self._picture.accept(rules)

    def feed(self, record: Record) -> None:
        """One record; everything that was due before it happens first."""
        if self._picture is None:
            self._begin(record)
        while self._due_ns <= record.mono_ns:
            self._look(self._due_ns)
            self._due_ns += LOOK_NS
        self.told.length_s = (record.mono_ns - self._began_ns) / 1e9
        self._hear(record)

    def close(self) -> Told:
        """What was seen."""
        self.told.decisions_sha256 = self._digest.hexdigest()
        return self.told

    def _begin(self, record: Record) -> None:
        self._began_ns = self._due_ns = record.mono_ns
        self._unix_after_mono_ns = record.unix_ns - record.mono_ns
        self.told.began_unix_ns = record.unix_ns
        self._picture = picture = Picture(self._rules, self._region, record.mono_ns / 1e9)
        self._coordinator = Coordinator(picture, self._planner)
        self._lease = ReplayedLease(picture)
        self._desk = Desk(picture, self._coordinator, lambda _line: None, lambda *_key: True)

    def _hear(self, record: Record) -> None:
        kind = record.subject.split(".")[2] if record.subject.count(".") >= 3 else ""
        arrival = Arrival(record.subject, record.mono_ns)
        self.told.messages += 1
        try:
            if kind == "event":
                self._hear_event(record)
            elif kind in _KINDS:
                self._hand_on(wire.decode(record.body, _TAKEN), arrival)
        except (MalformedMessage, EventMisfit):
            self.told.malformed += 1

    def _hand_on(self, message: object, arrival: Arrival) -> None:
        desk = self._desk
        if isinstance(message, NodeFrame):
            node = self._nodes.get(message.node)
            if node is not None:
                self._note_limits(node, message)
                message = node.frame(message)
            desk.on_frame(message, arrival)
        elif isinstance(message, NodeState):
            node = self._nodes.get(message.node)
            if node is None:
                node = self._nodes[message.node] = ReplayedNode(message, arrival.mono_ns)
            desk.on_state(node.heard(message, arrival.mono_ns), arrival)
        elif isinstance(message, Leaving):
            desk.on_state(message, arrival)
        elif isinstance(message, MeterReading):
            desk.on_meter(self._metered(message), arrival)
        elif isinstance(message, JobEvent):
            desk.on_job(message, arrival)
        elif isinstance(message, PowerForecast):
            desk.on_forecast(message, arrival)
        elif isinstance(message, Demand | Budget):
            self._lease.heard(message, arrival.mono_ns)
        elif isinstance(message, Plan):
            self.told.recorded.append(((arrival.mono_ns - self._began_ns) / 1e9, message))

    def _hear_event(self, record: Record) -> None:
        picture = self._open()
        words = record.subject.split(".")
        if words[3] not in ("xid", "drift"):
            return
        data, version = cloudevents.decode(record.body).data, picture.rules.version
        if isinstance(data, Xid):
            moved = picture.demotions.xid(data.node, data.gpu, data.xid, version)
        elif isinstance(data, Drift):
            at_s = record.mono_ns / 1e9
            moved = picture.demotions.drift(data.node, data.uuid, data.cause, version, at_s)
        else:
            return
        picture.modes_moved |= moved is not None

    def _metered(self, reading: MeterReading) -> MeterReading:
        """A meter's power less what the replayed limits would have cut below it."""
        fleet = self._open().fleet
        row = fleet.domain_index.get(reading.domain)
        if row is None or reading.power_w is None:
            return reading
        cut_w = np.zeros(len(fleet.nodes))
        for name, node in self._nodes.items():
            if (place := fleet.node_index.get(name)) is not None:
                cut_w[place] = float(node.cut_w.sum())
        below_w = float(fleet.weights.normal(fleet.overhead_slope * cut_w)[row])
        return msgspec.structs.replace(reading, power_w=max(0.0, reading.power_w - below_w))

    def _look(self, now_ns: int) -> None:
        picture, now_s = self._open(), now_ns / 1e9
        safety = picture.safety
        if safety.lead.phase == "contending":
            if now_ns - self._began_ns >= LISTEN_S * 1e9:
                safety.taken(max(0, safety.lead.highest_epoch) + 1, now_s, now_s)
        else:
            safety.renewed(now_s)
        self._lease.look(now_ns)
        look = self._coordinator.look(now_s, (now_ns + self._unix_after_mono_ns) / 1e9)
        for command in look.orders.messages:
            self._digest.update(wire.encode(command))
            self.told.commands += 1
            if (node := self._nodes.get(command.node)) is not None:
                self._answer(node.take(command, now_ns), now_ns)
        if safety.lead.phase == "leading" and self.told.leading_s is None:
            self.told.leading_s = (now_ns - self._began_ns) / 1e9
        if look.cause is not None and self._coordinator.decision is not None:
            self._say(look, now_ns)

    def _answer(self, ack: LimitAck, now_ns: int) -> None:
        self._desk.on_ack(ack, Arrival(subjects.ack(ack.region, ack.node), now_ns))

    def _say(self, look: Look, now_ns: int) -> None:
        decision = self._coordinator.decision
        assert decision is not None
        self._seq += 1
        plan = tell(
            self._open(),
            decision,
            look.sums,
            look.orders,
            seq=self._seq,
            cause=look.cause or "",
            plan_ms=0.0,
            now_s=now_ns / 1e9,
            clocks_ns=(now_ns + self._unix_after_mono_ns, now_ns),
        )
        self._digest.update(wire.encode(plan))
        at_s = (now_ns - self._began_ns) / 1e9
        self.told.replayed.append((at_s, plan))
        self.told.job_boards.update({job.job: job.gpu_count for job in plan.jobs})
        if now_ns - self._said_ns >= 1_000_000_000:
            self._said_ns = now_ns
            self.told.limits_w.append((at_s, dict(self._pairs())))

    def _note_limits(self, node: ReplayedNode, frame: NodeFrame) -> None:
        columns = node.columns(frame)
        if len(columns) == frame.gpu_count and frame.samples:
            last_w = view(frame).limit_w[-1].filled(np.nan).tolist()
            self._recorded_w.update((u, w) for u, w in zip(columns, last_w, strict=True) if w == w)

    def _pairs(self) -> Iterator[tuple[str, tuple[float, float]]]:
        for node in self._nodes.values():
            for uuid in node.uuids:
                if (recorded_w := self._recorded_w.get(uuid)) is not None:
                    held_w = node.limit_w(uuid)
                    yield uuid, (recorded_w, recorded_w if held_w is None else held_w)

    def _open(self) -> Picture:
        assert self._picture is not None
        return self._picture


def run(
    rules: Rules, region: str, records: Iterable[tuple[Record, Rules | None]], planner: Planner = plan
) -> Told:
    """Everything through one replay; a record may bring rules that come into force with it."""
    replay = Replay(rules, region, planner)
    for record, newer in records:
        if newer is not None:
            replay.adopt(newer)
        replay.feed(record)
    return replay.close()
