"""What is worth an event: standing conditions that begin or end, each told once and a flicker not at all.

Every condition is handed in as it stands at this moment; what comes out are kinds and data of `easyrider.event_kinds`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from easyrider.moments import rfc_3339
from easyrider.tree import HoldRule
from easyrider_policy.core.billing import Closed
from easyrider_policy.core.changes import Standing
from easyrider_policy.core.targets import TargetChange

MARGIN = 0.01
"""A slowdown beyond its bound by less is a rounding of the solver."""
Place = Literal["here", "asks", "left"]


class Tiding(NamedTuple):
    """One event: its kind and its data."""

    kind: str
    data: dict[str, object]


class Draw(NamedTuple):
    """Wall watts of one domain: what it draws and what it is to draw."""

    observed_w: float
    target_w: float


class Slow(NamedTuple):
    """One job: expected slowdown, the most its class allows, and what binds it."""

    slowdown: float
    max_slowdown: float
    reason: str


class Tidings:
    """Remembers what was told. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._above, self._missing, self._slow = Standing(), Standing(), Standing()
        self._meters, self._nodes = Standing(calm_s=0.0), Standing(calm_s=0.0)
        self._slowest: dict[str, Slow] = {}
        self._reactive = True  # until forecasts have earned trust
        self._places: dict[str, Place] = {}
        self._holds: dict[str, HoldRule] = {}

    @property
    def above(self) -> tuple[str, ...]:
        """Domains that were told to draw above their target, and not yet that they do no longer."""
        return self._above.names

    def draws(self, draws: Mapping[str, Draw], alarmed: Iterable[str], now_s: float) -> Iterator[Tiding]:
        """Domains that drew above their target, and that do no longer."""
        above = [name for name in alarmed if draws[name].observed_w > draws[name].target_w]
        changes = self._above.moved(above, now_s)
        for name in changes.begun + changes.ended:
            if (draw := draws.get(name)) is not None:
                watts = {"observed_w": round(draw.observed_w, 1), "target_w": round(draw.target_w, 1)}
                yield Tiding("excursion", {"domain": name, "above": name in changes.begun, **watts})

    def missing(self, missing_w: Mapping[str, float], now_s: float) -> Iterator[Tiding]:
        """Domains that cannot be kept by any limits, and those that can again."""
        changes = self._missing.moved((name for name, watts in missing_w.items() if watts > 0), now_s)
        for name in changes.begun:
            yield Tiding("infeasible", {"domain": name, "missing_w": round(missing_w[name], 1)})
        for name in changes.ended:
            yield Tiding("infeasible", {"domain": name, "missing_w": 0.0})

    def jobs(
        self, beyond: Mapping[str, Slow], now: Callable[[str], Slow | None], now_s: float
    ) -> Iterator[Tiding]:
        """Jobs that yield beyond what their class allows, and that do no longer; `now` tells of any job."""
        self._slowest.update(beyond)
        changes = self._slow.moved(beyond, now_s)
        for name in changes.begun:
            yield _slowed(name, beyond[name], True)
        for name in changes.ended:
            worst = self._slowest.pop(name)
            yield _slowed(name, now(name) or Slow(0.0, worst.max_slowdown, "ended"), False)

    def silent(self, meters: Iterable[str], nodes: Iterable[str], now_s: float) -> Iterator[Tiding]:
        """Domains whose meter, and nodes that, tell nothing."""
        for kind, field, standing, names in (
            ("meter_silent", "domain", self._meters, meters),
            ("node_silent", "node", self._nodes, nodes),
        ):
            changes = standing.moved(names, now_s)
            for name in changes.begun + changes.ended:
                yield Tiding(kind, {field: name, "silent": name in changes.begun})

    def trust(self, reactive: bool, why: str) -> Iterator[Tiding]:
        """Forecasts gained or lost trust."""
        if reactive != self._reactive:
            self._reactive = reactive
            yield Tiding("reactive", {"reactive": reactive, "why": why if reactive else ""})

    def places(self, asking: Iterable[str], left: Iterable[str]) -> Iterator[Tiding]:
        """Nodes that ask to leave, have left, or are back under command."""
        now: dict[str, Place] = dict.fromkeys(left, "left")
        now |= dict.fromkeys(asking, "asks")
        for node in sorted(now.keys() | self._places.keys()):
            place = now.get(node, "here")
            if place != self._places.get(node, "here"):
                yield Tiding("leaving", {"node": node, "place": place})
        self._places = now

    def targets(self, changes: Iterable[TargetChange]) -> Iterator[Tiding]:
        """Load targets that began, were not kept, were kept again, or ended."""
        for target, change, observed_w, short_w, kept, worst_w in changes:
            told = {"target_w": target.target_w, "reason": target.reason, "by": target.by}
            watts = {
                "observed_w": None if observed_w is None else round(observed_w, 1),
                "short_w": round(short_w, 1),
                "kept_ratio": None if kept is None else round(kept, 4),
                "worst_w": round(worst_w, 1),
            }
            yield Tiding(
                "target", {"id": target.id, "domain": target.domain, "change": change, **told, **watts}
            )

    def intervals(self, closed: Iterable[Closed]) -> Iterator[Tiding]:
        """Billed intervals that closed."""
        for one in closed:
            yield Tiding(
                "demand_interval",
                {
                    "id": one.window,
                    "domain": one.domain,
                    "ends": rfc_3339(one.ends_s),
                    "mean_w": round(max(0.0, one.mean_w), 1),
                    "would_w": round(max(0.0, one.would_w), 1),
                    "billed_w": None if one.billed_w is None else round(one.billed_w, 1),
                    "known_ratio": round(one.known_ratio, 4),
                    "saved_value": None if one.saved is None else round(one.saved, 2),
                    "cost_value": round(one.cost, 2),
                    "energy_value": round(one.energy_cost, 2),
                    "currency": one.currency,
                },
            )

    def holds(self, holds: Iterable[HoldRule]) -> Iterator[Tiding]:
        """Holds that an operator set or took away."""
        now = {hold.id: hold for hold in holds}
        for name in sorted(self._holds.keys() | now.keys()):
            if self._holds.get(name) == now.get(name):
                continue
            hold = now.get(name) or self._holds[name]
            told = {"domains": list(hold.domains), "reason": hold.reason, "by": hold.by}
            yield Tiding("hold", {"id": name, "held": name in now, **told})
        self._holds = now


def _slowed(name: str, job: Slow, beyond: bool) -> Tiding:
    return Tiding(
        "slowed",
        {
            "job": name,
            "beyond": beyond,
            "slowdown": round(job.slowdown, 4),
            "max_slowdown": round(job.max_slowdown, 4),
            "reason": job.reason,
        },
    )
