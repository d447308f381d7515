"""What this scope tells its parent once a period: what it draws, needs, obeys, and what watts are worth here."""

from typing import Protocol

from easyrider.messages import Demand
from easyrider.tree import Region
from easyrider_policy.coordinator import Coordinator
from easyrider_policy.core import demands
from easyrider_policy.core.crossing import packed, told
from easyrider_policy.core.guarantee import Guarantee
from easyrider_policy.core.lease import Lease
from easyrider_policy.lender import solution_of


class Clocks(Protocol):
    """Boot clock, and Unix and monotonic stamps, in ns."""

    def boot_ns(self) -> int: ...
    def stamps_ns(self) -> tuple[int, int]: ...


class OwnDemand:
    """Composes demands in order; each mints a nonce of the lease."""

    def __init__(
        self, coordinator: Coordinator, clocks: Clocks, lease: Lease, guarantee: Guarantee, boot_id: str
    ) -> None:
        self._coordinator, self._picture = coordinator, coordinator.picture
        self._clocks, self._lease, self._guarantee, self._boot_id = clocks, lease, guarantee, boot_id
        self._seq = 0

    def demand(self, region: Region) -> Demand:
        """What this region needs, and what it obeys."""
        coordinator, picture = self._coordinator, self._picture
        t_ns, mono_ns = self._clocks.stamps_ns()
        boot_ns = self._clocks.boot_ns()
        now_s = mono_ns / 1e9
        solution, lender, sums = solution_of(coordinator.decision), coordinator.lender, coordinator.sums
        # A decision of another fleet is forgotten with it; so is what it was made from.
        situation = None if coordinator.decision is None else coordinator.situation
        points = demands.nothing()
        want_w = self._lease.envelope(boot_ns).hard_w  # without a curve: what it has, no more
        floor_w: float | None = None
        if sums is not None and len(sums.counted_w) == len(picture.fleet.domains):
            overshoot = picture.safety.ledger.overshoot
            floor_w = demands.floor_w(situation, sums, picture.fleet, overshoot, 0, picture.regions)
            estimates = picture.meters.estimates(now_s)
            room = lender.measure(now_s, estimates, coordinator.decision, situation)
            if not coordinator.learning(now_s):
                points = demands.curve(room, float(lender.whole_w[0]), 0, solution, picture.regions, now_s)
        self._seq += 1
        own = told(solution, None if situation is None else situation.echo, picture.job_keys)
        job_keys, job_shares = packed(picture.regions.crossing.upward(own))
        decision, epoch = coordinator.decision, picture.safety.lead.epoch
        observed_w = None
        if decision is not None:
            observed_w = float(decision.observed_w[0] + picture.regions.drawn_w(now_s)[0])
        elif sums is not None and not picture.fleet.nodes:
            observed_w = float(
                (picture.walls.standing_w(sums.unmanaged_w) + picture.regions.drawn_w(now_s))[0]
            )
        return Demand(
            parent=str(region.parent),
            region=region.id,
            boot_id=self._boot_id,
            nonce=self._lease.mint(boot_ns),
            observed_w=None if observed_w is None else max(0.0, observed_w),
            floor_w=None if floor_w is None else max(0.0, floor_w),
            want_w=max(region.guaranteed_w or 0.0, float(points[0][-1]) if len(points[0]) else want_w),
            curve_w=tuple(points[0].tolist()),
            curve_value=tuple(points[1].tolist()),
            t_ns=t_ns,
            mono_ns=mono_ns,
            tree=picture.rules.id,
            tree_version=0 if self._guarantee.kept is None else self._guarantee.kept.version,
            epoch=max(0, epoch),
            seq=self._seq,
            highest_epoch=self._lease.named[0],
            highest_seq=self._lease.named[1],
            granted_w=self._lease.provable_w(boot_ns),
            counted_w=self.counted_w(),
            job_keys=job_keys,
            job_shares=job_shares,
        )

    def counted_w(self) -> float | None:
        """All that could be drawn here now; None where something cannot be counted."""
        sums, picture = self._coordinator.sums, self._picture
        if sums is None or len(sums.counted_w) != len(picture.fleet.domains):
            return None
        # `counted_w` of a look is our own boards and fixed loads; regions below come on top.
        _, mono_ns = self._clocks.stamps_ns()
        return demands.counted_w(sums, picture.fleet, 0, picture.regions, mono_ns / 1e9)
