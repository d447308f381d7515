"""This scope as the parent of regions: it hears what they need, and says budgets that were decided and written down."""

import asyncio
from typing import Protocol

from easyrider import log, metrics, subjects
from easyrider.bus_port import Arrival, BusDown, BusPort
from easyrider.errors import MalformedMessage
from easyrider.messages import Budget, Demand
from easyrider_policy.adapters.shares_file import SharesFile
from easyrider_policy.coordinator import Coordinator, Look
from easyrider_policy.core.crossing import packed
from easyrider_policy.core.lending import Grant
from easyrider_policy.core.region_shares import MOST_POINTS
from easyrider_policy.handlers import EPOCHS
from easyrider_policy.scribe import Scribe

_LOG = log.get("policy")
_DEMANDS = metrics.counter("policy_demands_total", "demands of regions, by what became of them", ["outcome"])
_SAID = metrics.counter("policy_budgets_said_total", "budgets said to regions")
_COUNTED_W = metrics.gauge("policy_region_counted_watts", "what a region could be drawing", ["region"])
CHANGED_W = 1.0


class Clocks(Protocol):
    """Monotonic seconds, and Unix and monotonic stamps in ns."""

    def now_s(self) -> float: ...
    def stamps_ns(self) -> tuple[int, int]: ...


class Parent:
    """Does nothing in a scope without regions below."""

    def __init__(
        self, coordinator: Coordinator, bus: BusPort, file: SharesFile, clocks: Clocks, scribe: Scribe
    ) -> None:
        self._coordinator, self._picture = coordinator, coordinator.picture
        self._file, self._kept = file, file.read_standings()
        self._picture.regions.lending.remember(self._kept)
        self._bus, self._clocks, self._scribe, self._note = bus, clocks, scribe, scribe.note
        self._granted_w: dict[str, float] = {}
        self._silent: set[str] = set()
        self._short: tuple[str, ...] = ()
        self.demands_s = -1e18

    def on_demand(self, demand: Demand, arrival: Arrival) -> None:
        """What a region needs and obeys."""
        outcome = self._heard(demand, arrival)
        _DEMANDS.labels(outcome).inc()
        if outcome in ("other_tree", "unknown_region"):
            log.bounded(_LOG, "demand", 30.0).warning(
                "a demand was left aside", why=outcome, region=demand.region, tree=demand.tree
            )

    def _heard(self, demand: Demand, arrival: Arrival) -> str:
        picture = self._picture
        if arrival.subject != subjects.demand(picture.region, demand.region):
            return "other_subject"
        if demand.parent != picture.region or demand.region not in picture.regions.lending.accounts:
            return "unknown_region"
        if demand.tree != picture.rules.id:
            return "other_tree"
        if max(demand.epoch, demand.highest_epoch) >= EPOCHS:
            return "absurd_epoch"
        if len(demand.curve_w) != len(demand.curve_value) or len(demand.curve_w) > MOST_POINTS:
            return "no_curve"
        now_s = arrival.mono_ns / 1e9
        if not picture.regions.heard(demand, now_s):
            return "old"
        self.demands_s = now_s
        picture.safety.region_heard(demand.highest_epoch, now_s)
        return "taken"

    def note(self, look: Look) -> None:
        """Budgets that change something, and regions that fall silent or speak again, into the journal."""
        for grant in look.budgets:
            before_w = self._granted_w.get(grant.region)
            if before_w is None or abs(before_w - grant.hard_w) > CHANGED_W:
                self._granted_w[grant.region] = grant.hard_w
                self._scribe.promise(
                    {
                        "what": "budget",
                        "region": grant.region,
                        "epoch": grant.key.epoch,
                        "seq": grant.key.seq,
                        "granted_w": round(grant.hard_w, 1),
                        "target_w": round(grant.target_w, 1),
                    }
                )
        regions, now_s = self._picture.regions, self._clocks.now_s()
        if not regions.any:
            return
        silent = set(regions.lending.silent(now_s))
        for name in sorted(silent ^ self._silent):
            self._note({"what": "region_silent" if name in silent else "region_heard", "region": name})
        self._silent = silent
        short = tuple(
            regions.fleet.domains[row]
            for row in range(len(regions.missing_w))
            if regions.missing_w[row] > CHANGED_W
        )
        if short != self._short:
            self._short = short
            self._note(
                {"what": "regions_infeasible" if short else "regions_feasible", "domains": list(short)}
            )
        for name, watts in regions.lending.counted_w(now_s).items():
            _COUNTED_W.labels(name).set(watts)

    async def say(self, look: Look) -> None:
        """Each budget, if the lead is still ours at that moment. What does not leave stays booked."""
        safety = self._picture.safety
        await self._keep()
        for grant in look.budgets:
            if not safety.may_publish(self._clocks.now_s()) or grant.key.epoch != safety.lead.epoch:
                return
            if grant.raised and self._coordinator.lower_only:
                self._picture.regions.lending.unsaid(grant)
                continue
            try:
                await self._bus.publish(subjects.budget(grant.region), self._budget(grant))
                _SAID.inc()
            except (BusDown, MalformedMessage) as fault:
                log.bounded(_LOG, "budget", 10.0).warning("a budget did not leave", fault=str(fault))

    async def _keep(self) -> None:
        """Guaranteed shares on disk, by an instance that waits for the lead too: it hears who disavows which."""
        standings = self._picture.regions.lending.standings()
        if standings == self._kept:
            return
        try:
            await asyncio.to_thread(self._file.keep_standings, standings)
        except OSError as fault:
            log.bounded(_LOG, "standings", 10.0).error(
                "shares are not on the disk: none rises", fault=str(fault)
            )
            return
        self._kept = standings

    def _budget(self, grant: Grant) -> Budget:
        picture, kept = self._picture, self._kept.get(grant.region)
        kept_w = 0.0 if kept is None else kept.vouched_w or 0.0
        t_ns, _ = self._clocks.stamps_ns()
        job_keys, job_shares = packed(picture.regions.crossing.for_region(grant.region, picture.echoed))
        return Budget(
            parent=picture.region,
            region=grant.region,
            epoch=grant.key.epoch,
            seq=grant.key.seq,
            nonce=grant.nonce,
            lease_s=grant.lease_s,
            granted_w=max(0.0, grant.hard_w),
            guaranteed_w=min(grant.vouched_w, kept_w),
            t_ns=t_ns,
            tree=picture.rules.id,
            target_w=max(0.0, grant.target_w),
            job_keys=job_keys,
            job_shares=job_shares,
        )
