"""Taking, renewing and giving up the lead: the store's answers, fed to the state machine of `core.leader`."""

import asyncio
from collections.abc import Callable

from easyrider import log
from easyrider.store_port import StorePort, StoreRefused, StoreSilent
from easyrider_policy.picture import Picture

_LOG = log.get("policy")
CONTEND_EVERY_S = 0.5
LISTEN_S = 1.2
"""A heartbeat and a little: by then every reachable node has said the highest epoch it knows."""


class Leadership:
    """Runs beside the loop; every call to the store has its own deadline.

    `fit`: whether this instance could command anybody now. One that cannot (no bus, a loop that hangs) neither
    takes nor renews the lead: its lease would keep out another that can.
    """

    def __init__(
        self,
        store: StorePort,
        picture: Picture,
        tree: str,
        scope: str,
        owner: str,
        now_s: Callable[[], float],
        fit: Callable[[], bool],
    ) -> None:
        self._store, self._picture, self._now_s, self._fit = store, picture, now_s, fit
        self._tree, self._scope, self._owner = tree, scope, owner
        self._given_up = False

    async def run(self) -> None:
        """For ever: contend while another leads, renew while we lead."""
        await asyncio.sleep(LISTEN_S)
        while True:
            began_s = self._now_s()
            await self.once(began_s)
            grant_s = self._picture.rules.leases.grant_every_s
            every_s = grant_s if self._leads() else CONTEND_EVERY_S
            await asyncio.sleep(max(0.0, began_s + every_s - self._now_s()))

    async def once(self, began_s: float) -> None:
        """One try, whatever is due."""
        if self._given_up:
            return
        if not self._fit():
            log.bounded(_LOG, "unfit", 10.0).warning("no bus or no loop: the lead is left to others")
            return
        await (self._renew(began_s) if self._leads() else self._contend(began_s))

    async def give_up(self) -> None:
        """On a clean stop, so that another need not wait for the lease to run out; it is not taken again."""
        self._given_up = True
        if not self._leads():
            return
        epoch = self._picture.safety.lead.epoch
        self._picture.safety.not_ours()
        try:
            await self._store.give_up_lead(self._tree, self._scope, self._owner, epoch)
        except (StoreSilent, StoreRefused) as fault:
            _LOG.warning("the lead runs out by itself", fault=str(fault))

    def _leads(self) -> bool:
        return self._picture.safety.lead.phase != "contending"

    async def _contend(self, began_s: float) -> None:
        picture, lease_s = self._picture, self._picture.rules.leases.leader_lease_s
        seen = max(0, picture.safety.lead.highest_epoch)
        try:
            epoch = await self._store.take_lead(self._tree, self._scope, self._owner, seen, lease_s)
        except (StoreSilent, StoreRefused) as fault:
            log.bounded(_LOG, "contend", 10.0).warning("cannot contend for the lead", fault=str(fault))
            return
        if epoch is None or self._given_up:
            return
        picture.safety.taken(epoch, began_s, self._now_s())
        if self._leads():
            _LOG.info("took the lead", epoch=epoch)
        else:
            _LOG.warning("a node knows a higher epoch already; trying again", epoch=epoch)

    async def _renew(self, began_s: float) -> None:
        picture, lease_s = self._picture, self._picture.rules.leases.leader_lease_s
        epoch = picture.safety.lead.epoch
        try:
            ours = await self._store.renew_lead(self._tree, self._scope, self._owner, epoch, lease_s)
        except (StoreSilent, StoreRefused) as fault:
            if picture.safety.lead.epoch == epoch:
                picture.safety.unanswered(self._now_s())
            log.bounded(_LOG, "renew", 10.0).warning("the lease could not be renewed", fault=str(fault))
            return
        if picture.safety.lead.epoch != epoch:
            return
        if ours:
            picture.safety.renewed(began_s)
        else:
            picture.safety.not_ours()
