"""The control loop: look at everything on an absolute beat, write down what is meant, say it, note what came of it."""

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable
from dataclasses import replace

import numpy as np

from easyrider import log, metrics, subjects
from easyrider.bus_port import BusDown, BusPort
from easyrider.errors import MalformedMessage
from easyrider.messages import Plan
from easyrider_policy import gauges
from easyrider_policy.clocks import Clocks
from easyrider_policy.coordinator import Coordinator, Look
from easyrider_policy.core.fleet import Bools, Fleet
from easyrider_policy.news import News
from easyrider_policy.saying import Saying
from easyrider_policy.scribe import Scribe
from easyrider_policy.telling import tell
from easyrider_policy.telling_regions import tell_lender
from easyrider_policy.turns import rest_after_glance_s, rest_after_s

_LOG = log.get("policy")
_LOOK_S = metrics.histogram(
    "policy_look_seconds", "one look of the loop", buckets=(0.001, 0.005, 0.02, 0.1, 1)
)
_GLANCE_S = metrics.histogram(
    "policy_glance_seconds", "one answer to jobs that woke", buckets=(0.001, 0.005, 0.02, 0.1, 1)
)

TELL_PER_BOARD_S = 0.4 / 8000
"""By board of the site, between two plans told: events of a large one follow each other closely, and the word on a
thousand domains costs more than the plan. What is decided leaves at once all the same."""
HEARD_BY_S = 5.0
"""Nodes tell of their boards once a second: by then one should have."""


class Loop:
    """Runs `Coordinator` on a beat and carries out what it says."""

    def __init__(
        self,
        coordinator: Coordinator,
        bus: BusPort,
        scribe: Scribe,
        news: News,
        *,
        tick_s: float,
        clocks: Clocks,
    ) -> None:
        self._coordinator, self._bus, self._scribe, self._news = coordinator, bus, scribe, news
        self._tick_s, self._clocks = tick_s, clocks
        self._saying = Saying(coordinator, bus, clocks)
        self._began_s: float | None = None
        self._verified = False
        self._waited: tuple[Fleet, Bools] | None = None  # boards (G,) whose raise waits
        self._unfit: tuple[str, ...] = ()
        self.looked_s = self._lent_s = self._told_s = -math.inf
        self._seq, self._moved = 0, (0, 0)  # boards lowered and raised since a plan was told
        self._untold: str | None = None  # what caused the first plan that nobody has been told of
        self.notes: list[Callable[[Look], None]] = []  # told of a look before it is written down
        self.says: list[Callable[[Look], Awaitable[None]]] = []  # say what goes before commands
        self._hurry = asyncio.Event()
        self._disk_s = 0.0  # of the newest look, waited for the disk: meanwhile others had their turn
        self.told: Plan | None = None  # the newest, made while leading: for the store

    async def run(self) -> None:
        """For ever, on absolute deadlines; a late look is not made up for by two."""
        due_s = self._clocks.now_s()
        while True:
            began_s = self._clocks.now_s()
            glanced = await self.glance(began_s)
            if glanced and began_s < due_s:
                glance_s = self._clocks.now_s() - began_s
                _GLANCE_S.observe(glance_s)
                await asyncio.sleep(rest_after_glance_s(glance_s, self._disk_s))
                await self._rested(due_s)
                continue
            if glanced:  # who woke while the disk wrote is not kept waiting for the look
                await self.glance(self._clocks.now_s())
            began_s = self._clocks.now_s()
            await self.once(began_s)
            self.looked_s = self._clocks.now_s()
            _LOOK_S.observe(self.looked_s - began_s)
            rest_s = rest_after_s(max(0.0, self.looked_s - began_s - self._disk_s), self._disk_s)
            due_s = max(due_s + self._tick_s, self.looked_s + rest_s)
            await asyncio.sleep(rest_s / 2)
            await self._rested(due_s)

    async def _rested(self, due_s: float) -> None:
        """Until then, or until something cannot wait."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, due_s - self._clocks.now_s())):
                await self._hurry.wait()
        self._hurry.clear()

    def frames_taken(self, now_s: float) -> None:
        """Fresh samples are in the columns: what cannot wait for the next beat is looked at now."""
        if self._coordinator.notice(now_s):
            self._hurry.set()

    @property
    def hurried(self) -> bool:
        """Whether something waits for a look before the next beat."""
        return self._hurry.is_set()

    async def glance(self, now_s: float) -> bool:
        """Answer those who woke with lowers alone, the rest in the next look; whether that was enough."""
        look = self._coordinator.glance(now_s)
        if look is None:
            return False
        self._scribe.intend(look.orders.messages)
        await self._write(now_s)
        await self._saying.say(look.orders.messages)
        gauges.show_orders(look.orders)
        self._untold = self._untold or look.cause
        self._moved = self._moved[0] + look.orders.lowers, self._moved[1]
        return True

    async def once(self, now_s: float) -> None:
        """One look and what follows from it."""
        look = self._coordinator.looked = self._coordinator.look(now_s, self._clocks.unix_s())
        look_ms = (self._clocks.now_s() - now_s) * 1e3
        self._say_what_is_unfit()
        for note in self.notes:
            note(look)
        await self._write_down(look, now_s)
        for say in self.says:
            await say(look)
        await self._saying.say(look.orders.messages)
        lead = self._coordinator.picture.safety.lead
        if lead.phase == "contending":
            self.told = None  # the store holds what the leader says
        gauges.show_lead(lead.phase != "contending", lead.epoch)
        gauges.show_orders(look.orders)
        self._untold = self._untold or look.cause
        self._moved = self._moved[0] + look.orders.lowers, self._moved[1] + look.orders.raises
        if self._untold is not None and self._may_tell(look, now_s):
            await self._tell(look, self._untold, now_s, look_ms)
            self._untold, self._told_s, self._moved = None, now_s, (0, 0)
        elif not self._coordinator.picture.fleet.nodes:
            await self._tell_lender(look, now_s)
        elif not self._coordinator.picture.fleet.gpus:
            self._say_why_no_plan(now_s)
        await self._news.tell(look, now_s)
        if look.unsaid:
            self._hurry.set()

    def _tell_every_s(self) -> float:
        return len(self._coordinator.picture.fleet.gpus) * TELL_PER_BOARD_S

    def _may_tell(self, look: Look, now_s: float) -> bool:
        """Of a large site rather in a look that made no plan: both in one would keep what comes next waiting."""
        every_s, ago_s = self._tell_every_s(), now_s - self._told_s
        return ago_s >= every_s and (look.cause is None or every_s < self._tick_s or ago_s >= 2 * every_s)

    def _say_what_is_unfit(self) -> None:
        unfit = self._coordinator.picture.unfit
        if unfit != self._unfit:
            self._unfit = unfit
            self._scribe.note({"what": "rules_unfit" if unfit else "rules_fit", "faults": list(unfit)})
            if unfit:
                _LOG.error("these rules cannot be kept safe with the boards heard: no raise", faults=unfit)

    def _say_why_no_plan(self, now_s: float) -> None:
        self._began_s = now_s if self._began_s is None else self._began_s
        if now_s - self._began_s >= HEARD_BY_S:
            picture = self._coordinator.picture
            log.bounded(_LOG, "no plan", 30.0).warning(
                "no plan is made: no node of the rules has told of its boards; do region, tree and node ids agree?",
                region=picture.region,
                tree=picture.rules.id,
                nodes=list(picture.fleet.nodes[:8]),
            )

    async def _write_down(self, look: Look, now_s: float) -> None:
        """Intents before the act; without a journal limits go down only."""
        if not look.unsaid:
            self._note_waiting(look)
        self._scribe.intend(look.orders.messages)
        if look.verified and not self._verified:
            self._verified = True
            self._scribe.note({"what": "verified", "proved": bool(look.sums.closed.any())})
        await self._write(now_s)

    async def _write(self, now_s: float) -> None:
        began_s = self._clocks.now_s()
        self._coordinator.lower_only = not await self._scribe.write(now_s)
        self._disk_s = self._clocks.now_s() - began_s

    def _note_waiting(self, look: Look) -> None:
        fleet, waits = self._coordinator.picture.fleet, look.orders.waiting
        before = self._waited_before(fleet)
        for at in np.flatnonzero(~before[waits.gpu]).tolist():
            waiting = waits[at]
            watts = round(waiting.watts, 3)
            self._scribe.note(
                {"what": "raise_waited", "gpu": fleet.gpus[waiting.gpu], "watts": watts, "why": waiting.why}
            )
        now = np.zeros(len(fleet.gpus), dtype=np.bool_)
        now[waits.gpu] = True
        self._waited = fleet, now

    def _waited_before(self, fleet: Fleet) -> Bools:
        """(G,) boards of this fleet whose raise waited at the last look."""
        if self._waited is not None and self._waited[0] is fleet:
            return self._waited[1]
        before = np.zeros(len(fleet.gpus), dtype=np.bool_)
        if self._waited is not None:
            old, rows = self._waited
            found = (fleet.gpu_index.get(old.gpus[row]) for row in np.flatnonzero(rows).tolist())
            before[[row for row in found if row is not None]] = True
        return before

    async def _tell(self, look: Look, cause: str, now_s: float, look_ms: float) -> None:
        coordinator, decision = self._coordinator, self._coordinator.decision
        if decision is None:
            return
        self._seq += 1
        orders = look.orders
        if self._tell_every_s() >= self._tick_s:  # it is told of several looks at once
            orders = replace(orders, lowers=self._moved[0], raises=self._moved[1])
        plan = tell(
            coordinator.picture,
            decision,
            look.sums,
            orders,
            seq=self._seq,
            cause=cause,
            plan_ms=look_ms,
            now_s=now_s,
            clocks_ns=self._clocks.stamps_ns(),
        )
        gauges.show_plan(plan)
        if plan.leading:
            self.told = plan
            await self._publish(plan)

    async def _tell_lender(self, look: Look, now_s: float) -> None:
        """The plan of a scope that has regions alone, as often as it shares watts over them."""
        coordinator = self._coordinator
        if coordinator.lender.planned_s == self._lent_s or not coordinator.picture.regions.any:
            return
        self._lent_s = coordinator.lender.planned_s
        self._seq += 1
        clocks_ns = self._clocks.stamps_ns()
        plan = tell_lender(
            coordinator.picture, look.sums, seq=self._seq, cause="tick", now_s=now_s, clocks_ns=clocks_ns
        )
        gauges.show_plan(plan)
        if plan.leading:
            self.told = plan
            await self._publish(plan)

    async def _publish(self, plan: Plan) -> None:
        try:
            await self._bus.publish(subjects.plan(plan.region), plan)
        except (BusDown, MalformedMessage) as fault:  # what cannot be told must not end what is done
            log.bounded(_LOG, "plan", 5.0).warning("a plan was not told", fault=str(fault))
