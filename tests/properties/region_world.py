"""Regions and their parent in virtual time: what could be drawn, through every kind of message loss and failover.

A region is three groups of boards that its coordinator reaches or does not; a group out of reach keeps what it has
until its dead-man takes it to its fallback. The budgets travel over a bus that loses, delays, doubles and reorders.
"""

import heapq
from dataclasses import dataclass, field
from random import Random

import numpy as np

from easyrider.messages import Budget, Demand
from easyrider.tree import Leases
from easyrider_policy.core.lease import Lease, Tenure
from easyrider_policy.core.lending import Borrower, Lending

STEP_S = 0.25
GROUPS = 3
LEASE_S = 10.0
LEASES = Leases()
REACTION_S = 2 * LEASES.control_period_s + LEASES.actuation_s
LEADER_LEASE_S = 5.0


@dataclass(slots=True)
class Group:
    """Boards of one node: what they are held at, since when without a grant, and whether anybody reaches them."""

    enforced_w: float
    fallback_w: float
    most_w: float
    reached: bool = True
    granted_s: float = 0.0
    fence: int = 0


class RegionLeader:
    """One process that leads a region: it obeys its lease, lowers first, and counts what it cannot see."""

    def __init__(self, region: "SimulatedRegion", epoch: int, boot_id: str, kept: Tenure | None) -> None:
        self.region, self.epoch = region, epoch
        self.seq = 0
        self.frozen = False
        self.lease = Lease(
            boot_id,
            guaranteed_w=region.guaranteed_w,
            reaction_s=REACTION_S,
            longest_s=region.lease_s,
            kept=kept,
        )
        self.known_w = [region.most_w / GROUPS] * GROUPS
        self.acked = [False] * GROUPS

    def act(self, now_s: float) -> None:
        """Lower what is in reach at once; raise it into what the envelope leaves above all that could be drawn."""
        limit_w = self.lease.envelope(round(now_s * 1e9)).hard_w
        groups = self.region.groups
        for place, group in enumerate(groups):
            if group.reached and group.fence <= self.epoch:
                group.fence, group.granted_s = self.epoch, now_s
                group.enforced_w = min(group.enforced_w, limit_w / GROUPS)
                self.known_w[place], self.acked[place] = group.enforced_w, True
        for place, group in enumerate(groups):
            if group.reached and group.fence == self.epoch:
                room_w = limit_w - sum(self.known_w)
                raised_w = min(group.enforced_w + max(0.0, room_w), limit_w / GROUPS, group.most_w)
                group.enforced_w = max(group.enforced_w, raised_w)
                self.known_w[place] = group.enforced_w

    def demand(self, now_s: float) -> Demand:
        boot_ns = round(now_s * 1e9)
        self.seq += 1
        envelope = self.lease.envelope(boot_ns)
        counted_w = sum(self.known_w)
        floor_w = sum(
            group.fallback_w if group.reached else known_w
            for group, known_w in zip(self.region.groups, self.known_w, strict=True)
        )
        return Demand(
            parent="site",
            region=self.region.id,
            boot_id="boot",
            nonce=self.lease.mint(boot_ns),
            observed_w=None,
            floor_w=floor_w,
            want_w=self.region.most_w,
            curve_w=(),
            curve_value=(),
            t_ns=0,
            mono_ns=0,
            epoch=self.epoch,
            seq=self.seq,
            highest_epoch=self.lease.fence[0],
            highest_seq=self.lease.fence[1],
            granted_w=envelope.granted_w,
            counted_w=counted_w,
        )

    def hear(self, budget: Budget, now_s: float, *, disk_full: bool = False) -> None:
        boot_ns = round(now_s * 1e9)
        if self.lease.refusal(budget, boot_ns) is None:
            tenure = self.lease.as_taken(budget, boot_ns)
            if disk_full:
                self.lease.take_unkept(tenure)
            else:
                self.region.disk = tenure
                self.lease.take(tenure)


class SimulatedRegion:
    """What hangs below one domain, and who leads there."""

    def __init__(self, name: str, guaranteed_w: float, most_w: float, lease_s: float) -> None:
        self.id, self.guaranteed_w, self.most_w, self.lease_s = name, guaranteed_w, most_w, lease_s
        share_w, most_group_w = guaranteed_w / GROUPS, most_w / GROUPS
        self.groups = [Group(share_w, share_w, most_group_w) for _ in range(GROUPS)]
        self.disk: Tenure | None = None
        self.epoch, self.host = 1, 0
        self.leader = RegionLeader(self, 1, "host-0", None)
        self.leader.known_w = [share_w] * GROUPS
        self.former: list[RegionLeader] = []

    def could_w(self) -> float:
        return sum(group.enforced_w for group in self.groups)

    def dead_men(self, now_s: float) -> None:
        for group in self.groups:
            if now_s - group.granted_s > LEASES.dead_man_s:
                group.enforced_w = min(group.enforced_w, group.fallback_w)

    def replace_leader(self, *, new_host: bool) -> None:
        self.epoch += 1
        self.host += new_host
        kept = None if new_host else self.disk
        self.former.append(self.leader)
        self.leader = RegionLeader(self, self.epoch, f"host-{self.host}", kept)


@dataclass(slots=True)
class ParentProcess:
    """One process that may lead the parent scope."""

    lending: Lending
    epoch: int = -1
    taken_s: float = -np.inf
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
                    if not parent.frozen:
                        parent.lending.heard(message, self.now_s)
            else:
                region = next(r for r in self.regions if r.id == name)
                for leader in (region.leader, *region.former):
                    if not leader.frozen:
                        leader.hear(message, self.now_s, disk_full=self.random.random() < 0.05 * self.rough)

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
        able = [parent for parent in self.parents if not parent.frozen]
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
        parent_now = self.leads
        if parent_now is None or parent_now.frozen or parent_now not in self.parents:
            return
        if self._whole_second() and self.random.random() < 0.3:
            self._want()
        lending = parent_now.lending
        counted_w = sum(lending.counted_w(self.now_s).values())
        grants = lending.compose(
            self.now_s,
            self.wanted,
            np.array([self.limit_w - counted_w]),
            {region.id: np.ones(1) for region in self.regions},
            raises_allowed=self.now_s >= parent_now.taken_s + LEASES.ttl_s + 1.0,
        )
        said = [
            Budget(
                parent="site",
                region=grant.region,
                epoch=grant.key.epoch,
                seq=grant.key.seq,
                nonce=grant.nonce,
                lease_s=self.lease_s,
                granted_w=grant.hard_w,
                guaranteed_w=100.0,
                t_ns=0,
                target_w=grant.target_w,
            )
            for grant in grants
        ]
        if self.random.random() < 0.004 * self.rough:
            parent_now.frozen, parent_now.unsaid = True, said
            return
        for budget in said:
            self.send("down", budget.region, budget)

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
                region.replace_leader(new_host=chance() < 0.5)
            elif chance() < 0.003 * self.rough:
                region.former, frozen = [], region.leader
                region.replace_leader(new_host=chance() < 0.5)
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

    def _whole_second(self) -> bool:
        return abs(self.now_s - round(self.now_s)) < STEP_S / 2
