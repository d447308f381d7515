"""Events of nodes in, demotions out: heard, judged, planned for at the next look, kept on disk, and told."""

import asyncio
from collections.abc import Awaitable, Callable

import numpy as np

from easyrider import cloudevents, log, metrics, subjects
from easyrider.bus_port import Arrival, BusPort, BusRefused
from easyrider.errors import MalformedMessage
from easyrider.event_kinds import Drift, EventMisfit, Xid
from easyrider_policy.adapters.demotions_file import DemotionsFile
from easyrider_policy.core.demotion import Demoted
from easyrider_policy.picture import Picture

_LOG = log.get("policy")
_DROPPED = metrics.counter("policy_events_dropped_total", "events of nodes that were not understood")
HEARD = ("xid", "drift")
"""Kinds of events that speak about a node's fitness."""
DEADLINE_S = 1.0
"""So long the telling waits for the disk; what stands meanwhile is in force all the same."""
AGAIN_S = 1.0
"""Between two looks at whether the disk knows what stands."""
Say = Callable[[str, dict[str, object]], Awaitable[None]]


class DemotionDesk:
    """Hears `xid` and `drift` events of the region; `say` tells what came of them."""

    def __init__(self, picture: Picture, file: DemotionsFile, say: Say) -> None:
        self._picture, self._file, self._say = picture, file, say
        self._on_disk = dict(picture.demotions.standing)
        self._one_writes = asyncio.Lock()
        self._keeping: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """For ever: what was lifted leaves the disk, and what the disk refused is tried again."""
        while True:
            await asyncio.sleep(AGAIN_S)
            await self._keep()

    async def on_event(self, body: bytes, arrival: Arrival) -> None:
        """One event's bytes. A node that controls nothing cannot be demoted."""
        try:
            data = cloudevents.decode(body).data
        except (MalformedMessage, EventMisfit) as fault:
            _DROPPED.inc()
            log.bounded(_LOG, "node event", 10.0).warning("an event was left aside", fault=str(fault))
            return
        if not isinstance(data, Xid | Drift) or not self._managed(data.node):
            return
        version, demotions = self._picture.rules.version, self._picture.demotions
        if isinstance(data, Xid):
            demoted = demotions.xid(data.node, data.gpu, data.xid, version)
        else:
            now_s = arrival.mono_ns / 1e9
            demoted = demotions.drift(data.node, data.uuid, data.cause, version, now_s)
        if demoted is not None:
            await self._carry_out(demoted)

    async def _carry_out(self, demoted: Demoted) -> None:
        picture = self._picture
        gpus = self._boards(demoted.node)
        picture.modes_moved = True
        _LOG.warning("demoted to observe", node=demoted.node, cause=demoted.cause, detail=demoted.detail)
        data: dict[str, object] = {
            "node": demoted.node,
            "gpus": gpus,
            "cause": demoted.cause,
            "detail": demoted.detail,
            "until_version": demoted.version,
        }
        keeping = asyncio.create_task(self._keep())
        self._keeping.add(keeping)
        keeping.add_done_callback(self._keeping.discard)
        done, _ = await asyncio.wait({keeping}, timeout=DEADLINE_S)
        for kept in done:
            kept.result()
        await self._say("demotion", data)

    async def _keep(self) -> None:
        """Have the disk know those that stand."""
        async with self._one_writes:
            standing = dict(self._picture.demotions.standing)
            if standing == self._on_disk:
                return
            try:
                await asyncio.to_thread(self._file.keep, list(standing.values()))
            except OSError as fault:
                log.bounded(_LOG, "demotions file", 60.0).error(
                    "demotions are not on the disk as they stand: a restart would go by those of before",
                    fault=str(fault),
                )
            else:
                self._on_disk = standing

    def _managed(self, node: str) -> bool:
        row = self._picture.fleet.node_index.get(node)
        return row is not None and bool(np.any(self._picture.managed[self._picture.fleet.gpus_of(row)]))

    def _boards(self, node: str) -> list[str]:
        fleet = self._picture.fleet
        return list(fleet.gpus[fleet.gpus_of(fleet.node_index[node])])


async def hear_nodes(bus: BusPort, region: str, desk: DemotionDesk) -> None:
    """Listen for what nodes report of themselves; without the right to, nothing is demoted, and that is said."""
    try:
        for kind in HEARD:
            await bus.listen(subjects.event(kind, region), desk.on_event)
    except BusRefused as fault:
        _LOG.error("faults of nodes are not heard: nothing will be demoted by itself", fault=str(fault))
