"""What the loop told last, kept at the store for those who come later."""

import asyncio

import msgspec

from easyrider import log
from easyrider.store_port import StorePort, StoreRefused, StoreSilent
from easyrider_policy.loop import Loop

_LOG = log.get("policy")


async def write_behind(loop: Loop, store: StorePort, tree: str, region: str) -> None:
    """The last plan into the store once a second, never on the control path."""
    while True:
        await asyncio.sleep(1.0)
        await save_state(loop, store, tree, region)


async def save_state(loop: Loop, store: StorePort, tree: str, region: str) -> None:
    """What the loop told since it leads; a store that does not take it is told so, and asked again."""
    plan = loop.told
    try:
        if plan is not None:
            await store.save_state(tree, region, {"plan": msgspec.msgpack.encode(plan)})
    except (StoreSilent, StoreRefused) as fault:
        log.bounded(_LOG, "state", 30.0).warning("the store did not take the state", fault=str(fault))
