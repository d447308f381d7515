"""This scope as a region of its parent: it asks once a period, obeys what echoes its nonce, and keeps it on disk."""

import asyncio
import contextlib
from collections.abc import Callable

from easyrider import log, metrics, scopes, subjects
from easyrider.bus_port import Arrival, BusDown, BusPort
from easyrider.errors import MalformedMessage
from easyrider.messages import Budget
from easyrider.tree import Region
from easyrider_policy.adapters.shares_file import SharesFile
from easyrider_policy.adapters.tenure_file import TenureFile
from easyrider_policy.coordinator import Coordinator
from easyrider_policy.core.crossing import unpacked
from easyrider_policy.core.guarantee import Guarantee, Share
from easyrider_policy.core.lease import Envelope, Lease
from easyrider_policy.handlers import EPOCHS
from easyrider_policy.own_demand import Clocks, OwnDemand

_LOG = log.get("policy")
_BUDGETS = metrics.counter(
    "policy_budgets_total", "budgets of the parent, by what became of them", ["outcome"]
)
_GRANTED_W = metrics.gauge("policy_granted_watts", "what the parent lets this scope draw at most", ["region"])
_LEFT_S = metrics.gauge(
    "policy_region_lease_seconds", "how long that still holds; 0: the guaranteed share", ["region"]
)
CHANGED_W = 1.0
Note = Callable[[dict[str, object]], None]


class Child:
    """Does nothing in a scope without a parent, until rules name one."""

    def __init__(
        self,
        coordinator: Coordinator,
        bus: BusPort,
        files: tuple[TenureFile, SharesFile],
        clocks: Clocks,
        note: Note,
        boot_id: str,
    ) -> None:
        self._coordinator, self._picture = coordinator, coordinator.picture
        self._bus, self._clocks, self._note = bus, clocks, note
        self._file, self._shares = files
        self._hurry = asyncio.Event()
        self._leads = self._over = False
        self._last: Envelope | None = None
        self.lease = Lease(boot_id, guaranteed_w=0.0, reaction_s=0.0, longest_s=0.0, kept=self._file.read())
        self.guarantee = Guarantee(self._shares.read_share())
        self._words = OwnDemand(coordinator, clocks, self.lease, self.guarantee, boot_id)
        self._keeping = asyncio.Lock()
        coordinator.prepares.append(self.prepare)
        self.prepare(0.0)

    @property
    def region(self) -> Region | None:
        """This scope, if it has a parent."""
        found = scopes.find(self._picture.rules, self._picture.region)
        return found if found is not None and found.parent is not None else None

    def prepare(self, _now_s: float) -> None:
        """What may be drawn at this moment; a change asks for a plan, what was awaited is told at once."""
        picture, region = self._picture, self.region
        if region is None:
            picture.envelope, picture.echoed = None, {}
            return
        rules, leases = picture.rules, picture.rules.leases
        levels = 1 + scopes.depth(rules, region.id)
        if self.guarantee.adopt(rules.version, region.guaranteed_w or 0.0):
            self.lease.forget_nonces()  # a budget on its way may name the share of before
        self._share()
        self.lease.reaction_s = levels * (2 * leases.control_period_s + leases.actuation_s)
        self.lease.longest_s = rules.region_lease_s
        self._lead()
        now = picture.envelope = self.lease.envelope(self._clocks.boot_ns())
        if now.granted_w is None:
            picture.echoed = {}
        _GRANTED_W.labels(region.id).set(now.hard_w)
        _LEFT_S.labels(region.id).set(now.left_s if now.granted_w is not None else 0.0)
        self._tell_change(now)
        leads = picture.safety.lead.phase != "contending"
        counted = self._words.counted_w()
        over = counted is not None and counted > now.hard_w + CHANGED_W
        if (leads and not self._leads) or (self._over and not over):
            self._hurry.set()
        self._leads, self._over = leads, over

    async def on_budget(self, budget: Budget, arrival: Arrival) -> None:
        """A grant: judged, kept on disk, obeyed."""
        region, picture = self.region, self._picture
        self._lead()
        if region is None or arrival.subject != subjects.budget(picture.region):
            _BUDGETS.labels("other_subject").inc()
            return
        ours = (
            budget.region == region.id and budget.parent == region.parent and budget.tree == picture.rules.id
        )
        boot_ns = self._clocks.boot_ns()
        why = self.lease.refusal(budget, boot_ns) if ours and budget.epoch < EPOCHS else "not_ours"
        if why is not None:
            _BUDGETS.labels(why).inc()
            return
        first = budget.epoch > self.lease.named[0]
        tenure = self.lease.as_taken(budget, boot_ns)
        try:
            await asyncio.to_thread(self._file.keep, tenure)
        except OSError as fault:
            self.lease.take_unkept(tenure)
            _BUDGETS.labels("unkept").inc()
            log.bounded(_LOG, "tenure", 10.0).error(
                "a grant is not on the disk: it raises nothing", fault=str(fault)
            )
            return
        before = self.lease.envelope(boot_ns)
        self.lease.take(tenure)
        picture.echoed = unpacked(budget.job_keys, budget.job_shares)
        _BUDGETS.labels("taken").inc()
        if (share := self.guarantee.higher(budget.guaranteed_w)) is not None:
            await self._keep(share)
        if first or abs(tenure.granted_w - before.hard_w) > CHANGED_W:
            self._hurry.set()

    async def run(self) -> None:
        """A demand each period, and at once where something is to be told."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._picture.rules.leases.control_period_s):
                    await self._hurry.wait()
            self._hurry.clear()
            await self.say()

    async def say(self) -> None:
        """One demand, if this instance leads."""
        picture, region = self._picture, self.region
        _, mono_ns = self._clocks.stamps_ns()
        if region is None or not picture.safety.may_publish(mono_ns / 1e9):
            return
        self._lead()
        if (share := self.guarantee.unkept()) is not None:
            await self._keep(share)
        demand = self._words.demand(region)
        try:
            await self._bus.publish(subjects.demand(demand.parent, demand.region), demand)
        except (BusDown, MalformedMessage) as fault:
            log.bounded(_LOG, "demand", 10.0).warning("a demand did not leave", fault=str(fault))

    def _share(self) -> None:
        self.lease.guaranteed_w = 0.0 if self.guarantee.obeyed is None else self.guarantee.obeyed.watts

    async def _keep(self, share: Share) -> None:
        """A share on disk before it is told, or before a higher one is obeyed."""
        async with self._keeping:
            try:
                await asyncio.to_thread(self._shares.keep_share, share)
            except OSError as fault:
                log.bounded(_LOG, "share", 10.0).error(
                    "a guaranteed share is not on the disk: it does not rise", fault=str(fault)
                )
                return
            self.guarantee.take(share)
            self._share()

    def _lead(self) -> None:
        """Before anything stands on the lease: whether it outlived a change of the lead."""
        lead = self._picture.safety.lead
        if lead.phase != "contending":
            self.lease.led_by(lead.epoch)

    def _tell_change(self, now: Envelope) -> None:
        last, self._last = self._last, now
        if (
            last is not None
            and abs(last.hard_w - now.hard_w) < CHANGED_W
            and abs(last.target_w - now.target_w) < CHANGED_W
        ):
            return
        self._coordinator.urge("budget")
        self._note(
            {
                "what": "envelope",
                "hard_w": round(now.hard_w, 1),
                "target_w": round(now.target_w, 1),
                "granted": now.granted_w is not None,
                "left_s": round(now.left_s, 3),
                "parent_epoch": self.lease.fence[0],
                "parent_seq": self.lease.fence[1],
            }
        )
