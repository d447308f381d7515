"""What the coordinator answers and says, kept for a moment: control is never asked twice for the same thing at once."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from easyrider import wire
from easyrider.bus_port import Arrival, BusDown, BusPort, NoAnswer
from easyrider.messages import Answer, Ask, Plan
from easyrider.messages.asks import Question
from easyrider_policy_api.late_bus import LateBus
from easyrider_policy_api.problems import Problem, coordinator_silent

ADOPTING_S = 3.0
"""For rules to be read, checked, kept on the coordinator's disk and looked at once."""
KEPT_S = 0.5
"""However many people look, the coordinator is asked for the same thing twice a second at most."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An answer's document, and what it was at; `body` is that document in JSON, as the coordinator said it."""

    document: Any
    version: int
    epoch: int
    t_ns: int
    heard_s: float
    body: bytes = b"{}"
    made: dict[str, bytes] = field(default_factory=dict)
    """What routes made of it, by the name of whom it was made for: thousands of rows are written out once."""


@dataclass(slots=True)
class _Said:
    """The newest plan, and its JSON once somebody has asked for it."""

    plan: Plan
    heard_s: float
    body: bytes = b""


class CoordinatorLink:
    """`mono_s`: the clock by which answers age."""

    def __init__(
        self, bus: BusPort | LateBus, tree: str, region: str, deadline_s: float, mono_s: Callable[[], float]
    ) -> None:
        self._bus, self._tree, self._region, self._deadline_s = bus, tree, region, deadline_s
        self._mono_s = mono_s
        self._kept: dict[tuple[str, str, str], Snapshot] = {}
        self._asking: dict[tuple[str, str, str], asyncio.Task[Snapshot]] = {}
        self._plans: dict[str, _Said] = {}  # the newest of each region

    @property
    def region(self) -> str:
        """The scope that is asked where none is named."""
        return self._region

    async def state(self, node: str = "", region: str = "") -> Snapshot:
        """Everything live, or with the boards of one node alone. Raises `Problem`: 404, 503."""
        return await self._look("state", node, region)

    async def jobs(self, region: str = "") -> Snapshot:
        """Every job. Raises `Problem` 503."""
        return await self._look("jobs", "", region)

    async def job(self, name: str, region: str = "") -> Any:
        """One job of a site that has more than one answer holds; an empty map where it is not there."""
        return read(await self.ask("jobs", "", name, region))

    async def explained(self, what: Question, name: str, region: str = "") -> Snapshot:
        """Why one GPU, job or domain is limited. Raises `Problem`: 404, 503."""
        return await self._look(what, name, region)

    async def advice(self, what: Question, asked: str = "", region: str = "") -> Snapshot:
        """Start offsets, or how large a job could start. Raises `Problem`: 404 where `asked` is refused, 503."""
        return await self._look(what, asked, region)

    async def trust(self) -> Snapshot:
        """How far each scope has come. Raises `Problem` 503."""
        return await self._look("trust")

    def age_s(self, snapshot: Snapshot) -> float:
        """Since it was answered."""
        return max(0.0, self._mono_s() - snapshot.heard_s)

    async def ask(self, what: Question, who: str, name: str = "", region: str = "") -> Answer:
        """A question that is to be asked, whatever is kept. Raises `Problem` 503 where nobody answers."""
        region = region or self._region
        ask = Ask(tree=self._tree, region=region, what=what, name=name, who=who)
        deadline_s = max(ADOPTING_S, self._deadline_s) if what == "rules" else self._deadline_s
        try:
            return await self._bus.ask(region, ask, deadline_s)
        except (NoAnswer, BusDown) as fault:
            raise coordinator_silent(fault.why) from fault

    def on_plan(self, plan: Plan, _arrival: Arrival) -> None:
        """The newest plan of whoever leads this scope or a region below, as far as the bus carries it here."""
        if plan.leading and plan.tree == self._tree:
            self._plans[plan.region] = _Said(plan, self._mono_s())

    @property
    def lends(self) -> bool:
        """Whether the last plan of this scope tells of regions below."""
        return bool(self.lent_to)

    @property
    def lent_to(self) -> tuple[str, ...]:
        """Regions right below that the last plan of this scope tells of."""
        said = self._plans.get(self._region)
        return () if said is None else tuple(row.region for row in said.plan.regions)

    def plan(self, region: str = "") -> tuple[bytes, float]:
        """The last plan in JSON, and its age in s. Raises `Problem` 503 where none came yet."""
        said = self._plans.get(region or self._region)
        if said is None:
            whose = f"region {region}" if region else "it"
            raise coordinator_silent(f"{whose} said no plan since this API started")
        if not said.body:
            said.body = _without_kind(said.plan)
        return said.body, max(0.0, self._mono_s() - said.heard_s)

    async def _look(self, what: Question, name: str = "", region: str = "") -> Snapshot:
        key = (what, name, region or self._region)
        kept = self._kept.get(key)
        if kept is not None and self._mono_s() - kept.heard_s < KEPT_S:
            return kept
        task = self._asking.get(key)
        if task is None:
            task = self._asking[key] = asyncio.get_running_loop().create_task(self._fetch(*key))
            task.add_done_callback(lambda _done: self._asking.pop(key, None))
        return await asyncio.shield(task)

    async def _fetch(self, what: Question, name: str, region: str) -> Snapshot:
        answer = await self.ask(what, "", name, region)
        if not answer.ok and name:
            raise Problem(404, "not-there", answer.reason)
        if not answer.ok:
            raise Problem(503, "coordinator-refused", answer.reason, retry_after_s=2.0)
        now_s = self._mono_s()
        document = read(answer)
        body = answer.body or b"{}"
        snapshot = Snapshot(document, answer.version, answer.epoch, answer.t_ns, now_s, body)
        self._kept = {key: one for key, one in self._kept.items() if now_s - one.heard_s < KEPT_S}
        self._kept[what, name, region] = snapshot
        return snapshot


def read(answer: Answer) -> Any:
    """The document of an answer; an empty map where it has none."""
    try:
        return msgspec.json.decode(answer.body) if answer.body else {}
    except msgspec.DecodeError as fault:
        raise coordinator_silent(f"what it answered is no JSON: {fault}") from fault


def _without_kind(plan: Plan) -> bytes:
    body, head = msgspec.json.encode(plan), b'{"kind":"%b",' % wire.kind_of(Plan).encode()
    return b"{" + body.removeprefix(head) if body.startswith(head) else body
