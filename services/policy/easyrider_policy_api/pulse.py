"""Whether the store answers: asked by ourselves, so that health checks cost nothing."""

import asyncio

from easyrider import log
from easyrider.admin_store import AdminStorePort
from easyrider.store_port import StoreRefused, StoreSilent

_LOG = log.get("policy-api")
EVERY_S = 2.0


class Pulse:
    """`beats` is what the last look said."""

    def __init__(self, store: AdminStorePort, tree: str) -> None:
        self._store, self._tree = store, tree
        self.beats = False

    async def run(self) -> None:
        """For ever."""
        while True:
            await self.look()
            await asyncio.sleep(EVERY_S)

    async def look(self) -> None:
        """Ask once."""
        try:
            await self._store.load_rules(self._tree)
        except (StoreSilent, StoreRefused) as fault:
            self.beats = False
            log.bounded(_LOG, "store", 30.0).warning("the store does not answer", why=str(fault))
            return
        self.beats = True
