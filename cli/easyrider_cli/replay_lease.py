"""What the parent of a recorded region lent it: its own demands and budgets, through the product's own lease.

The region's boot clock is told by the nonces of its demands, which are moments of it. A stretch begins with what the
first demand says that it obeys; of the grant's target nothing is known until the next budget. Where neither is in the
recording the guaranteed share holds, as it would.
"""

from easyrider import scopes
from easyrider.messages import Budget, Demand
from easyrider.tree import Rules
from easyrider_policy.core.crossing import unpacked
from easyrider_policy.core.lease import Lease, Tenure
from easyrider_policy.picture import Picture

BOOT_ID = "recorded"


class ReplayedLease:
    """One region's lease as it was. Times are the recorder's monotonic ns."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        self._lease: Lease | None = None
        self._boot_after_mono_ns: int | None = None

    def heard(self, message: Demand | Budget, arrived_ns: int) -> None:
        """A demand of this region, or a budget for it."""
        if message.region != self._picture.region or message.tree != self._picture.rules.id:
            return
        if isinstance(message, Demand):
            self._demanded(message, arrived_ns)
        elif self._lease is not None:
            boot_ns = self._boot_ns(arrived_ns)
            if self._lease.refusal(message, boot_ns) is None:
                self._lease.take(self._lease.as_taken(message, boot_ns))
                self._picture.echoed = unpacked(message.job_keys, message.job_shares)

    def look(self, now_ns: int) -> None:
        """What may be drawn at this moment, into the picture. Nothing where the rules name no parent."""
        picture, rules = self._picture, self._picture.rules
        found = scopes.find(rules, picture.region)
        if found is None or found.parent is None:
            picture.envelope = None
            return
        lease = self._lease = self._lease or _lease(None)
        lease.guaranteed_w = found.guaranteed_w or 0.0
        lease.reaction_s = _reaction_s(rules, picture.region)
        lease.longest_s = rules.region_lease_s
        picture.envelope = lease.envelope(self._boot_ns(now_ns))
        if picture.envelope.granted_w is None:
            picture.echoed = {}

    def _demanded(self, demand: Demand, arrived_ns: int) -> None:
        if self._boot_after_mono_ns is None:
            self._lease = _lease(_tenure(demand, self._picture.rules.region_lease_s))
        # Another boot of its host, or of the recorder's, moves the one clock against the other.
        self._boot_after_mono_ns = demand.nonce - arrived_ns
        if self._lease is not None:
            self._lease.mint(demand.nonce)

    def _boot_ns(self, mono_ns: int) -> int:
        return mono_ns + (self._boot_after_mono_ns or 0)


def _lease(kept: Tenure | None) -> Lease:
    return Lease(BOOT_ID, guaranteed_w=0.0, reaction_s=0.0, longest_s=float("inf"), kept=kept)


def _tenure(demand: Demand, lease_s: float) -> Tenure | None:
    """The budget that a region says it obeys, as if it had come with this demand."""
    if demand.granted_w is None:
        return None
    return Tenure(
        boot_id=BOOT_ID,
        epoch=demand.highest_epoch,
        seq=demand.highest_seq,
        minted_ns=demand.nonce,
        lease_s=lease_s,
        granted_w=demand.granted_w,
        target_w=demand.granted_w,
    )


def _reaction_s(rules: Rules, region: str) -> float:
    """From a smaller envelope until every board keeps it, for each level of coordinators."""
    leases = rules.leases
    return (1 + scopes.depth(rules, region)) * (2 * leases.control_period_s + leases.actuation_s)
