"""A region in virtual time: its boards, the leaders it had and has, and what its lease lets them do.

A region is three groups of boards that its coordinator reaches or does not; a group out of reach keeps what it has
until its dead-man takes it to its fallback.
"""

from dataclasses import dataclass

from easyrider.messages import Budget, Demand
from easyrider.tree import Leases
from easyrider_policy.core.lease import Lease, Tenure

GROUPS = 3
LEASES = Leases()
REACTION_S = 2 * LEASES.control_period_s + LEASES.actuation_s


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

    def __init__(self, region: "SimulatedRegion", epoch: int, host: str, kept: Tenure | None) -> None:
        self.region, self.epoch, self.host = region, epoch, host
        self.seq = 0
        self.frozen = False
        self.lease = Lease(
            host,
            guaranteed_w=region.guaranteed_w,
            reaction_s=REACTION_S,
            longest_s=region.lease_s,
            kept=kept,
        )
        self.lease.led_by(epoch)
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
            highest_epoch=self.lease.named[0],
            highest_seq=self.lease.named[1],
            granted_w=self.lease.provable_w(boot_ns),
            counted_w=counted_w,
        )

    def hear(self, budget: Budget, now_s: float, *, disk_full: bool = False, replaced: bool = False) -> None:
        """`replaced`: the full disk holds the new record all the same, and did not say so."""
        boot_ns = round(now_s * 1e9)
        if self.lease.refusal(budget, boot_ns) is None:
            tenure = self.lease.as_taken(budget, boot_ns)
            if disk_full:
                self.lease.take_unkept(tenure)
                if replaced:
                    self.region.disks[self.host] = tenure
            else:
                self.region.disks[self.host] = tenure
                self.lease.take(tenure)


class SimulatedRegion:
    """What hangs below one domain, and who leads there."""

    def __init__(self, name: str, guaranteed_w: float, most_w: float, lease_s: float) -> None:
        self.id, self.guaranteed_w, self.most_w, self.lease_s = name, guaranteed_w, most_w, lease_s
        share_w, most_group_w = guaranteed_w / GROUPS, most_w / GROUPS
        self.groups = [Group(share_w, share_w, most_group_w) for _ in range(GROUPS)]
        self.disks: dict[str, Tenure] = {}  # by host
        self.epoch, self.hosts = 1, 1
        self.leader = RegionLeader(self, 1, "host-0", None)
        self.leader.known_w = [share_w] * GROUPS
        self.former: list[RegionLeader] = []

    def could_w(self) -> float:
        return sum(group.enforced_w for group in self.groups)

    def dead_men(self, now_s: float) -> None:
        for group in self.groups:
            if now_s - group.granted_s > LEASES.dead_man_s:
                group.enforced_w = min(group.enforced_w, group.fallback_w)

    def replace_leader(self, host: str) -> None:
        """Another process leads, on a host that has the disk it had."""
        self.epoch += 1
        self.former.append(self.leader)
        self.leader = RegionLeader(self, self.epoch, host, self.disks.get(host))
