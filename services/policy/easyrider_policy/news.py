"""Integration events of the coordinator, each said once per change: who leads, what cannot be met, what fell silent."""

from collections.abc import Callable, Iterator

import numpy as np

from easyrider import log
from easyrider.bus_port import BusDown, BusPort
from easyrider.errors import MalformedMessage
from easyrider_policy.coordinator import Coordinator, Look
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
        for move in look.excursions:
            kind = "limit_drop" if move.after < move.before else "limit_back"
            data = {"domain": move.domain, "share_before": move.before, "share": move.after}
            await self.say(kind, data, noted=True)
        if lead.phase == "leading":  # before, much is counted at its worst, and meters have hardly spoken
            for tiding in self._found(look, now_s):
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
        yield from tidings.missing(dict(zip(names, decision.missing_w.tolist(), strict=True)), now_s)
        draws = map(Draw, decision.observed_w.tolist(), picture.target_w.tolist())
        alarmed = [names[row] for row in np.flatnonzero(decision.alarm).tolist()]
        yield from tidings.draws(dict(zip(names, draws, strict=True)), alarmed, now_s)
        if len(decision.slowdown) == layout.job_count:
            over = layout.controlled & (decision.slowdown > layout.max_slowdown + MARGIN)

            def slow(row: int) -> Slow:
                bounds = float(decision.slowdown[row]), float(layout.max_slowdown[row])
                return Slow(*bounds, decision.reasons[row])

            def now(name: str) -> Slow | None:
                return next((slow(row) for row, job in enumerate(layout.jobs) if job.id == name), None)

            beyond = {layout.jobs[row].id: slow(row) for row in np.flatnonzero(over).tolist()}
            yield from tidings.jobs(beyond, now, now_s)
        why = picture.why_reactive(now_s) if decision.reactive else ""
        yield from tidings.trust(decision.reactive, why)
