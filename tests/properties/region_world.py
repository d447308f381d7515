"""Regions and their parent in virtual time: what could be drawn, through every kind of message loss and failover.

The budgets travel over a bus that loses, delays, doubles and reorders; what regions do stands in `simulated_region`.
"""

import heapq
from dataclasses import dataclass, field
from random import Random

import numpy as np
from simulated_region import LEASES, SimulatedRegion

from easyrider.messages import Budget, Demand
from easyrider_policy.core.lending import Borrower, Lending

STEP_S = 0.25
LEASE_S = 10.0
LEADER_LEASE_S = 5.0


@dataclass(slots=True)
class ParentProcess:
    """One process that may lead the parent scope."""

    lending: Lending
    epoch: int = -1
    taken_s: float = -np.inf
    until_s: float = np.inf  # end of its lease at the store
    frozen: bool = False
    unsaid: list[Budget] = field(default_factory=list)  # composed before it froze, said when it wakes


class RegionWorld:
    """A parent with a standby, regions, a bus; `rough` is 0 to 1: how often something goes wrong."""

    def __init__(
        self, seed: int, regions: int, rough: float, spare_share: float, lease_s: float = LEASE_S
    ) -> None:
        self.random, self.rough, self.lease_s = Random(seed), rough, lease_s
        self.now_s = 100.0
        self.regions = [SimulatedRegion(f"r{k}", 100.0 + 20.0 * k, 600.0, lease_s) for k in range(regions)]
        guaranteed_w = sum(region.guaranteed_w for region in self.regions)
        self.limit_w = guaranteed_w * (1.0 + spare_share)
        self.epoch = 0
        self.parents = [self._parent(), self._parent()]
        self.leads: ParentProcess | None = None
        self.lease_ends_s = 0.0
        self.cut: dict[str, float] = {}
        self.full: set[str] = set()  # regions whose disk takes nothing
        self.stranded: ParentProcess | None = (
            None  # led when a line was cut, and is on its other side with these
        )
        self.beyond: dict[str, tuple[float, float]] = {}  # regions, and what it wants for them
        self._queue: list[tuple[float, int, str, str, Demand | Budget]] = []
        self._count = 0
        self.wanted: dict[str, tuple[float, float]] = {}

    def could_w(self) -> float:
        return sum(region.could_w() for region in self.regions)

    def run(self, seconds: float) -> float:
        """The highest sum of what could be drawn."""
        highest_w, end_s = 0.0, self.now_s + seconds
        while self.now_s < end_s:
            self.step()
            highest_w = max(highest_w, self.could_w())
        return highest_w

    def step(self) -> None:
        self.now_s += STEP_S
        self._go_wrong()
        self._lead()
        self._deliver()
        for region in self.regions:
            for leader in (*region.former, region.leader):
                if not leader.frozen:
                    leader.act(self.now_s)
            region.dead_men(self.now_s)
            if not region.leader.frozen and self._whole_second():
                self.send("up", region.id, region.leader.demand(self.now_s))
        self._parents()

    def strand(self, beyond: dict[str, tuple[float, float]]) -> None:
        """Cut a line: the leader and these regions on one side; store, other parent and the rest on the other."""
        self.stranded, self.leads, self.beyond = self.leads, None, beyond
        self.lease_ends_s = self.now_s + LEADER_LEASE_S
        if self.stranded is not None:
            self.stranded.until_s = self.lease_ends_s

    def send(self, way: str, region: str, message: Demand | Budget) -> None:
        copies = 1 + (self.random.random() < 0.1 * self.rough)
        for _ in range(copies):
            if self.random.random() < 0.1 * self.rough:
                continue
            late_s = self.random.expovariate(2.0) * self.rough if self.random.random() < 0.3 else 0.0
            if self.random.random() < 0.02 * self.rough:
                late_s = self.random.uniform(0.0, 40.0)
            self._count += 1
            heapq.heappush(self._queue, (self.now_s + late_s, self._count, way, region, message))

    def _deliver(self) -> None:
        while self._queue and self._queue[0][0] <= self.now_s:
            _, _, _way, name, message = heapq.heappop(self._queue)
            if self.cut.get(name, 0.0) > self.now_s:
                continue
            if isinstance(message, Demand):
                for parent in self.parents:
                    if not parent.frozen and self._joined(parent, name):
                        parent.lending.heard(message, self.now_s)
            elif self._joined(self._sender(message), name):
                region = next(r for r in self.regions if r.id == name)
                for leader in (region.leader, *region.former):
                    if not leader.frozen:
                        full = self.random.random() < 0.05 * self.rough or name in self.full
                        replaced = name not in self.full and self.random.random() < 0.5
                        leader.hear(message, self.now_s, disk_full=full, replaced=replaced)

    def _parent(self) -> ParentProcess:
        borrowers = [
            Borrower(id=r.id, row=0, guaranteed_w=r.guaranteed_w, worst_w=r.most_w) for r in self.regions
        ]
        return ParentProcess(Lending(borrowers, LEASES, self.lease_s))

    def _lead(self) -> None:
        holder = self.leads
        if holder is not None and not holder.frozen and holder in self.parents:
            self.lease_ends_s = self.now_s + LEADER_LEASE_S
            return
        if self.now_s < self.lease_ends_s:
            return
        able = [parent for parent in self.parents if not parent.frozen and parent is not self.stranded]
        if able:
            self.epoch += 1
            self.leads = able[0]
            able[0].epoch, able[0].taken_s = self.epoch, self.now_s
            able[0].lending.took_over(self.epoch, self.now_s)

    def _parents(self) -> None:
        for parent in self.parents:
            if parent.frozen:
                continue
            for (
                budget
            ) in parent.unsaid:  # a process that was frozen between its last question and the publish
                self.send("down", budget.region, budget)
            parent.unsaid = []
        if self.stranded is not None:
            self._compose(self.stranded, self.beyond)
        if self.leads is None or self.leads.frozen or self.leads not in self.parents:
            return
        if self._whole_second() and self.random.random() < 0.3:
            self._want()
        self._compose(self.leads, self.wanted)

    def _compose(self, parent: ParentProcess, wanted: dict[str, tuple[float, float]]) -> None:
        counted_w = sum(parent.lending.counted_w(self.now_s).values())
        grants = parent.lending.compose(
            self.now_s,
            wanted,
            np.array([self.limit_w - counted_w]),
            {region.id: np.ones(1) for region in self.regions},
            raises_allowed=self.now_s >= parent.taken_s + LEASES.ttl_s + 1.0,
            until_s=parent.until_s,
        )
        said = [
            Budget(
                parent="site",
                region=grant.region,
                epoch=grant.key.epoch,
                seq=grant.key.seq,
                nonce=grant.nonce,
                lease_s=grant.lease_s,
                granted_w=grant.hard_w,
                guaranteed_w=grant.vouched_w,
                t_ns=0,
                target_w=grant.target_w,
            )
            for grant in grants
        ]
        if self.random.random() < 0.004 * self.rough:
            parent.frozen, parent.unsaid = True, said
            return
        for budget in said:
            self.send("down", budget.region, budget)

    def _sender(self, budget: Budget) -> ParentProcess | None:
        return next((parent for parent in self.parents if parent.epoch == budget.epoch), None)

    def _joined(self, parent: ParentProcess | None, region: str) -> bool:
        """Whether a parent and a region are on the same side of the line that was cut, if one was."""
        return self.stranded is None or (parent is self.stranded) == (region in self.beyond)

    def _want(self) -> None:
        spare_w = self.limit_w - sum(region.guaranteed_w for region in self.regions)
        parts = [self.random.random() ** 2 for _ in self.regions]
        total = sum(parts) or 1.0
        for region, part in zip(self.regions, parts, strict=True):
            watts = min(region.guaranteed_w + spare_w * part / total, region.most_w)
            self.wanted[region.id] = (watts, watts)

    def _go_wrong(self) -> None:
        chance = self.random.random
        for region in self.regions:
            if chance() < 0.003 * self.rough:
                self.cut[region.id] = self.now_s + self.random.uniform(1.0, 60.0)
            for group in region.groups:
                if chance() < (0.003 * self.rough if group.reached else 0.02):
                    group.reached = not group.reached
            if chance() < 0.004 * self.rough:
                region.leader.frozen = True
            if region.leader.frozen and chance() < 0.05:
                region.replace_leader(self._host(region))
            elif chance() < 0.003 * self.rough:
                region.former, frozen = [], region.leader
                region.replace_leader(self._host(region))
                region.former.remove(frozen)  # killed
            for former in region.former:
                former.frozen = former.frozen and chance() > 0.02
        for place, parent in enumerate(self.parents):
            if parent.frozen and chance() < 0.02:
                parent.frozen = False
                if parent is self.leads and self.now_s >= self.lease_ends_s:
                    self.leads = None
            elif chance() < 0.002 * self.rough:
                self.parents[place] = self._parent()  # killed, and started again from nothing

    def _host(self, region: SimulatedRegion) -> str:
        """Where the next leader runs: where the last one did, on a host of before with its old disk, or on a new."""
        way = self.random.random()
        if way < 0.4:
            return region.leader.host
        if way < 0.7:
            return f"host-{self.random.randrange(region.hosts)}"
        region.hosts += 1
        return f"host-{region.hosts - 1}"

    def _whole_second(self) -> bool:
        return abs(self.now_s - round(self.now_s)) < STEP_S / 2
