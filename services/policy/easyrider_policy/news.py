"""Integration events of the coordinator, each said once per change: who leads, what cannot be met, what fell silent."""

from collections.abc import Callable

from easyrider import log
from easyrider.bus_port import BusDown, BusPort
from easyrider.errors import MalformedMessage
from easyrider_policy.coordinator import Coordinator, Look
from easyrider_policy.core.changes import Standing

_LOG = log.get("policy")
Note = Callable[[dict[str, object]], None]


class News:
    """Tells a change to the journal always, and as an event while this instance leads."""

    def __init__(self, bus: BusPort, coordinator: Coordinator, region: str, note: Note) -> None:
        self._bus, self._coordinator, self._region, self._note = bus, coordinator, region, note
        self._infeasible, self._silent = Standing(), Standing(calm_s=0.0)
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
            if move.after < move.before:
                data = {"domain": move.domain, "share_before": move.before, "share": move.after}
                await self.say("limit_drop", data, noted=True)
        if lead.phase == "leading":  # before, much is counted at its worst, and meters have hardly spoken
            await self._tell_silent(look, now_s)
            if look.cause is not None:
                await self._tell_missing(now_s)

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

    async def _tell_silent(self, look: Look, now_s: float) -> None:
        changes = self._silent.moved(look.silent_meters, now_s)
        for domain in changes.begun:
            await self.say("meter_silent", {"domain": domain, "silent": True})
        for domain in changes.ended:
            await self.say("meter_silent", {"domain": domain, "silent": False})

    async def _tell_missing(self, now_s: float) -> None:
        decision, fleet = self._coordinator.decision, self._coordinator.picture.fleet
        if decision is None:
            return
        missing_w = dict(zip(fleet.domains, decision.missing_w.tolist(), strict=True))
        changes = self._infeasible.moved((name for name, watts in missing_w.items() if watts > 0), now_s)
        for name in changes.begun:
            await self.say("infeasible", {"domain": name, "missing_w": round(missing_w[name], 1)})
        for name in changes.ended:
            await self.say("infeasible", {"domain": name, "missing_w": 0.0})
