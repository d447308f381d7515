"""Integration events of the coordinator, each said once per change: who leads, what cannot be met, what fell silent."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from easyrider import log
from easyrider.bus_port import BusDown, BusPort
from easyrider.errors import MalformedMessage
from easyrider_policy.coordinator import Coordinator, Look
from easyrider_policy.core.crowds import bounded
from easyrider_policy.core.layout import Layout
from easyrider_policy.core.records import Decision
from easyrider_policy.core.tidings import MARGIN, Draw, Slow, Tiding, Tidings

_LOG = log.get("policy")
Note = Callable[[dict[str, object]], None]


class News:
    """Tells a change to the journal always, and as an event while this instance leads."""

    def __init__(self, bus: BusPort, coordinator: Coordinator, region: str, note: Note) -> None:
        self._bus, self._coordinator, self._region, self._note = bus, coordinator, region, note
        self._tidings = Tidings()
        self._leading, self._epoch = False, -1

    async def tell(self, look: Look, now_s: float) -> None:
        """What changed with this look."""
        lead = self._coordinator.picture.safety.lead
        leading = lead.phase != "contending"
        if leading and lead.epoch != self._epoch:
            self._epoch = lead.epoch
            await self.say("leader_change", {"epoch": lead.epoch})
        elif self._leading and not leading:
            _LOG.warning("the lead is lost", epoch=lead.epoch, why=lead.why)
            self._note({"what": "lead_lost", "epoch": lead.epoch, "why": lead.why})
        self._leading = leading
        untold, self._coordinator.untold[:] = [*self._coordinator.untold], []
        for tiding in untold:
            await self.say(tiding.kind, tiding.data)
        for move in look.excursions:
            kind = "limit_drop" if move.after < move.before else "limit_back"
            data = {"domain": move.domain, "share_before": move.before, "share": move.after}
            await self.say(kind, data, noted=True)
        if lead.phase == "leading":  # before, much is counted at its worst, and meters have hardly spoken
            for tiding in bounded(self._found(look, now_s)):
                await self.say(tiding.kind, tiding.data)

    async def say(self, kind: str, data: dict[str, object], *, noted: bool = False) -> None:
        """One event, and its line in the journal unless it is there already (`noted`)."""
        if not noted:
            self._note({"what": kind, **data})
        if self._coordinator.picture.safety.lead.phase == "contending":
            return
        try:
            await self._bus.publish_event(kind, self._region, data, source="policy")
        except (BusDown, MalformedMessage) as fault:
            log.bounded(_LOG, "event", 5.0).warning("an event was not said", kind=kind, fault=str(fault))

    def _found(self, look: Look, now_s: float) -> Iterator[Tiding]:
        picture, tidings = self._coordinator.picture, self._tidings
        safety, nodes = picture.safety, picture.fleet.nodes
        asking = [nodes[row] for row, held in safety.leavings.waiting.items() if held.whole]
        left = [nodes[row] for row in np.flatnonzero(safety.leavings.away()).tolist()]
        quiet = [nodes[row] for row in np.flatnonzero(safety.ledger.roll.quiet(now_s)).tolist()]
        yield from tidings.silent(look.silent_meters, quiet, now_s)
        yield from tidings.places(asking, left)
        yield from tidings.holds(picture.rules.holds)
        yield from tidings.targets(picture.targets.take_changes())
        yield from tidings.intervals(picture.billing.take_closed())
        decision = self._coordinator.decision
        if look.cause is not None and decision is not None:
            yield from self._of_plan(decision, now_s)

    def _of_plan(self, decision: Decision, now_s: float) -> Iterator[Tiding]:
        picture, tidings = self._coordinator.picture, self._tidings
        names, layout = picture.fleet.domains, picture.observation.layout
        short = np.flatnonzero(decision.missing_w > 0).tolist()
        yield from tidings.missing({names[row]: float(decision.missing_w[row]) for row in short}, now_s)
        alarmed = [names[row] for row in np.flatnonzero(decision.alarm).tolist()]
        yield from tidings.draws(self._draws({*alarmed, *tidings.above}, decision), alarmed, now_s)
        if len(decision.slowdown) == layout.job_count:
            over = layout.controlled & (decision.slowdown > layout.max_slowdown + MARGIN)

            def now(name: str) -> Slow | None:
                row = picture.observation.job_rows.get(name)
                return None if row is None else _slow(layout, decision, [row])[name]

            beyond = _slow(layout, decision, np.flatnonzero(over).tolist())
            yield from tidings.jobs(beyond, now, now_s)
        why = picture.why_reactive(now_s) if decision.reactive else ""
        yield from tidings.trust(decision.reactive, why)

    def _draws(self, domains: Iterable[str], decision: Decision) -> dict[str, Draw]:
        picture = self._coordinator.picture
        index, target_w = picture.fleet.domain_index, picture.target_w
        rows = {name: index[name] for name in domains if name in index}
        return {
            name: Draw(float(decision.observed_w[row]), float(target_w[row])) for name, row in rows.items()
        }


def _slow(layout: Layout, decision: Decision, rows: list[int]) -> dict[str, Slow]:
    bounds = zip(decision.slowdown[rows].tolist(), layout.max_slowdown[rows].tolist(), rows, strict=True)
    return {layout.jobs[row].id: Slow(slow, most, decision.reasons[row]) for slow, most, row in bounds}
