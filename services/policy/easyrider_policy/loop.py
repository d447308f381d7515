"""The control loop: look at everything on an absolute beat, write down what is meant, say it, note what came of it."""

import asyncio
import time
from dataclasses import dataclass

import msgspec

from easyrider import log, metrics, subjects
from easyrider.bus_port import BusDown, BusPort
from easyrider.messages import ExitGrant, SetLimits
from easyrider.store_port import StorePort, StoreRefused, StoreSilent
from easyrider_policy.adapters.journal import Journal, JournalBroken
from easyrider_policy.coordinator import Coordinator, Look
from easyrider_policy.core.commands import Command
from easyrider_policy.telling import tell

_LOG = log.get("policy")
_PLAN_S = metrics.histogram(
    "policy_look_seconds", "one look of the loop", buckets=(0.001, 0.005, 0.02, 0.1, 1)
)
_COMMANDS = metrics.counter("policy_commands_total", "commands said, by kind", ["kind"])
_LEADING = metrics.gauge("policy_leading", "1 while this instance leads")
_RETRY_S = 1.0


@dataclass(slots=True)
class Clocks:
    """The clocks of this process; only here are they read."""

    def now_s(self) -> float:
        """Monotonic."""
        return time.monotonic()

    def boot_ns(self) -> int:
        """Since boot, sleep included: what records of one machine share."""
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Loop:
    """Runs `Control` on a beat and carries out what it says."""

    def __init__(
        self,
        coordinator: Coordinator,
        bus: BusPort,
        store: StorePort,
        journal: Journal,
        *,
        region: str,
        tick_s: float,
        clocks: Clocks,
    ) -> None:
        self._coordinator, self._bus, self._store, self._journal = coordinator, bus, store, journal
        self._region, self._tick_s, self._clocks = region, tick_s, clocks
        self._notes: list[dict[str, object]] = []
        self._seq = 0
        self._verified = False
        self._waiting: set[int] = set()
        self._epoch_told = -1
        self._missing: set[str] = set()
        self._journal_again_s = 0.0
        self.looked_s = -1e18
        self.state: dict[str, bytes] = {}

    def note(self, entry: dict[str, object]) -> None:
        """A line for the journal, written with the next look."""
        self._notes.append({"boottime_ns": self._clocks.boot_ns(), **entry})

    async def run(self) -> None:
        """For ever, on absolute deadlines; a late look is not made up for by two."""
        due_s = self._clocks.now_s()
        while True:
            began_s = self._clocks.now_s()
            await self._once(began_s)
            self.looked_s = self._clocks.now_s()
            _PLAN_S.observe(self.looked_s - began_s)
            due_s = max(due_s + self._tick_s, self.looked_s)
            await asyncio.sleep(due_s - self.looked_s)

    async def _once(self, now_s: float) -> None:
        look = self._coordinator.look(now_s)
        look_ms = (self._clocks.now_s() - now_s) * 1e3
        await self._write_down(look, now_s)
        for command in look.orders.messages:
            if not self._may_leave(command):
                continue
            await self._say(subjects.command(command.region, command.node), command)
        if look.cause is not None:
            await self._tell(look, now_s, look_ms)
        await self._tell_changes(look)

    def _may_leave(self, command: Command) -> bool:
        """Asked right before each command: a look may have taken long."""
        safety = self._coordinator.picture.safety
        if not safety.may_publish(self._clocks.now_s()) or command.epoch != safety.lead.epoch:
            return False
        return not (self._coordinator.lower_only and self._raises(command))

    def _raises(self, command: Command) -> bool:
        if not isinstance(command, SetLimits):
            return isinstance(command, ExitGrant)  # a restore is a raise
        ledger = self._coordinator.picture.safety.ledger
        for limit in command.limits:
            row = ledger.fleet.gpu_index.get(limit.uuid)
            if row is not None and limit.limit_w is not None and not limit.limit_w <= ledger.requested_w[row]:
                return True
        return False

    async def _say(self, subject: str, command: Command) -> None:
        try:
            await self._bus.publish(subject, command)
            _COMMANDS.labels(type(command).__name__).inc()
        except BusDown as fault:
            # Booked all the same: had it left, it would count so. The next beat decides afresh.
            log.bounded(_LOG, "say", 5.0).warning(
                "a command did not leave", node=command.node, fault=str(fault)
            )

    async def _write_down(self, look: Look, now_s: float) -> None:
        """Intents before the act; without a journal limits go down only."""
        entries = [*self._notes, *self._intents(look)]
        self._notes.clear()
        if look.verified and not self._verified:
            self._verified = True
            entries.append({"what": "verified", "boottime_ns": self._clocks.boot_ns()})
        if not entries and not (self._coordinator.lower_only and now_s >= self._journal_again_s):
            return
        try:
            if any(entry["what"] == "intent" for entry in entries):
                await asyncio.to_thread(self._journal.intend, entries)
            else:
                self._journal.note(
                    entries or [{"what": "journal_back", "boottime_ns": self._clocks.boot_ns()}]
                )
            self._coordinator.lower_only = False
        except JournalBroken as fault:
            self._coordinator.lower_only = True
            self._journal_again_s = now_s + _RETRY_S
            log.bounded(_LOG, "journal", 10.0).error("no limit is raised", fault=str(fault))

    def _intents(self, look: Look) -> list[dict[str, object]]:
        boot_ns = self._clocks.boot_ns()
        entries: list[dict[str, object]] = []
        waits = {w.gpu for w in look.orders.waiting}
        entries += [
            {
                "what": "raise_waited",
                "boottime_ns": boot_ns,
                "gpu": self._coordinator.picture.fleet.gpus[w.gpu],
                "watts": round(w.watts, 3),
                "why": w.why,
            }
            for w in look.orders.waiting
            if w.gpu not in self._waiting
        ]
        self._waiting = waits
        if look.orders.lowers or look.orders.raises:
            entries += [
                {
                    "what": "intent",
                    "boottime_ns": boot_ns,
                    "node": command.node,
                    "epoch": command.epoch,
                    "seq": command.seq,
                    "limits_w": {limit.uuid: limit.limit_w for limit in command.limits},
                }
                for command in look.orders.messages
                if isinstance(command, SetLimits)
            ]
        return entries

    async def _tell(self, look: Look, now_s: float, look_ms: float) -> None:
        coordinator, decision = self._coordinator, self._coordinator.decision
        if decision is None or look.cause is None:
            return
        picture = coordinator.picture
        self._seq += 1
        quiet = picture.safety.ledger.roll.quiet(now_s)
        plan = tell(
            picture,
            decision,
            look.sums,
            look.orders,
            tree=picture.rules.id,
            region=self._region,
            seq=self._seq,
            cause=look.cause,
            plan_ms=look_ms,
            clocks_ns=(time.time_ns(), time.monotonic_ns()),
            quiet=tuple(name for name, is_quiet in zip(picture.fleet.nodes, quiet, strict=True) if is_quiet),
        )
        self.state["plan"] = msgspec.msgpack.encode(plan)
        if plan.leading:
            try:
                await self._bus.publish(subjects.plan(self._region), plan)
            except BusDown as fault:
                log.bounded(_LOG, "plan", 5.0).warning("a plan was not told", fault=str(fault))

    async def _tell_changes(self, look: Look) -> None:
        """Integration events: who leads, what cannot be met."""
        lead = self._coordinator.picture.safety.lead
        _LEADING.set(lead.phase != "contending")
        if lead.phase != "contending" and lead.epoch != self._epoch_told:
            self._epoch_told = lead.epoch
            self.note({"what": "leader_change", "epoch": lead.epoch})
            await self._event("leader_change", {"epoch": lead.epoch})
        decision = self._coordinator.decision
        if look.cause is None or decision is None or lead.phase == "contending":
            return
        fleet = self._coordinator.picture.fleet
        missing = {
            name: float(watts)
            for name, watts in zip(fleet.domains, decision.missing_w, strict=True)
            if watts > 0
        }
        for name in missing.keys() - self._missing:
            self.note({"what": "infeasible", "domain": name, "missing_w": missing[name]})
            await self._event("infeasible", {"domain": name, "missing_w": missing[name]})
        self._missing = set(missing)

    async def _event(self, kind: str, data: dict[str, object]) -> None:
        try:
            await self._bus.publish_event(kind, self._region, data, source="policy")
        except BusDown as fault:
            log.bounded(_LOG, "event", 5.0).warning("an event was not said", kind=kind, fault=str(fault))


async def write_behind(loop: Loop, store: StorePort, tree: str, region: str) -> None:
    """The last plan into the store once a second, never on the control path."""
    while True:
        await asyncio.sleep(1.0)
        fields = dict(loop.state)
        if not fields:
            continue
        try:
            await store.save_state(tree, region, fields)
        except (StoreSilent, StoreRefused) as fault:
            log.bounded(_LOG, "state", 30.0).warning("the store did not take the state", fault=str(fault))
