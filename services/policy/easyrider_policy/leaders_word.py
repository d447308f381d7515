"""Which rules a live leader of this scope has in force, as its newest plan says: what a contender may follow."""

from collections.abc import Callable

from easyrider import log, subjects
from easyrider.bus_port import Arrival, BusPort, BusRefused
from easyrider.delivery import understood
from easyrider.messages import Plan
from easyrider_policy.picture import Picture

_LOG = log.get("policy")


class LeadersWord:
    """Keeps the newest plan said, unread: one of a large site is long, and is asked for once in a while only."""

    def __init__(self, picture: Picture, now_s: Callable[[], float]) -> None:
        self._picture, self._now_s = picture, now_s
        self._said: tuple[bytes, Arrival] | None = None

    def on_plan(self, data: bytes, arrival: Arrival) -> None:
        """The next one said."""
        self._said = data, arrival

    def version(self) -> int | None:
        """Of the rules in force where somebody leads now; None: nobody is heard to."""
        if self._said is None:
            return None
        picture, (data, arrival) = self._picture, self._said
        if self._now_s() - arrival.mono_ns / 1e9 > picture.rules.leases.leader_lease_s:
            return None
        plan = understood(_LOG, arrival.subject, data, (Plan,))
        if not isinstance(plan, Plan) or not plan.leading or plan.tree != picture.rules.id:
            return None
        if plan.epoch < picture.safety.lead.highest_epoch:
            return None  # another leads since
        return plan.tree_version


async def hear_leader(bus: BusPort, region: str, word: LeadersWord) -> None:
    """Listen for the plans of whoever leads; without the right to, rises wait until this instance leads."""
    try:
        await bus.listen(subjects.plan(region), word.on_plan)
    except BusRefused as fault:
        _LOG.error(
            "plans of another leader are not heard: rules that raise a mode wait until this instance leads; "
            "renew the permissions of the policy's account",
            fault=str(fault),
        )
