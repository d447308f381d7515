"""Advice of the leader: start offsets that keep peaks apart, how large a job could start where, whom heat slows.

Read off what is known; nothing is planned for it, and no limit moves by it. The reckoning is done beside the loop.
"""

import asyncio
from collections.abc import Callable

import msgspec
import numpy as np

from easyrider_policy.coordinator import Coordinator
from easyrider_policy.core.clearing import Running, UnfitWaiting, Waiting, plan
from easyrider_policy.core.cooling import drains
from easyrider_policy.core.fleet import Bools, Fleet, Floats
from easyrider_policy.core.fragmentation import Branch, Hall, Room, fragmentation
from easyrider_policy.core.observe import UNREAD_S
from easyrider_policy.core.staggering import seen, staggered

BRANCHES_TOLD = 2_000
NODES_TOLD = 1_000
UNPLANNED = "nothing is planned here yet, and so nothing is known: ask again once nodes are heard"
_UNKNOWN: dict[str, object] = {
    "largest": None,
    "in_sum": None,
    "index": None,
    "branches": (),
    "left_out": 0,
    "plan": (),
    "says": UNPLANNED,
}


class JobAsked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A job that somebody would like to start; watts per GPU."""

    gpus: int | None = None
    peak_w: float | None = None


class AdviceAnswers:
    """Documents from the coordinator's beliefs. `now_s` is monotonic. A text that is no document says why not."""

    def __init__(self, coordinator: Coordinator, now_s: Callable[[], float]) -> None:
        self._coordinator, self._now_s = coordinator, now_s
        self._one_reckons = asyncio.Lock()

    async def offsets(self) -> bytes:
        """Domains that bind or nearly do, and offsets for the jobs below them."""
        picture, decision = self._coordinator.picture, self._coordinator.decision
        if decision is None:
            return msgspec.json.encode({"domains": (), "says": self._unplanned()})
        waves = seen(
            picture.observation, decision.observed_w, picture.target_meant_w, decision.price, self._now_s()
        )
        async with self._one_reckons:
            found = await asyncio.to_thread(staggered, waves)
        says = "" if found else "no domain with jobs is near its target: nothing to gain"
        return msgspec.json.encode({"domains": found, "says": says})

    def _unplanned(self) -> str:
        """Why nothing is known; a scope that only lends has no jobs of its own, however long it is asked."""
        picture = self._coordinator.picture
        regions = ", ".join(one.id for one in picture.regions.borrowers)
        if regions and not len(picture.fleet.nodes):
            return f"region {picture.region} has no nodes of its own: ask region {regions}"
        return UNPLANNED

    def cooling(self) -> bytes:
        """Nodes with boards that heat slows, hottest first, and where as many boards are idle on cooler ones."""
        picture, seen = self._coordinator.picture, self._coordinator.picture.observation
        read = seen.unread_s <= UNREAD_S
        found = drains(
            picture.fleet,
            np.isfinite(seen.limiters.heat_w) & read,
            np.where(read, picture.gathering.temperature_c, np.nan),
            (seen.layout.job_of < 0) & self._reached(read),
        )
        says = "" if found else "no board that is read is slowed by heat: nothing to move"
        return msgspec.json.encode(
            {"nodes": found[:NODES_TOLD], "left_out": max(0, len(found) - NODES_TOLD), "says": says}
        )

    async def fragmentation(self, asked: str) -> bytes | str:
        """The largest startable job by branch, and what would let the one that is asked about start."""
        try:
            job = msgspec.json.decode(asked, type=JobAsked) if asked else JobAsked()
        except msgspec.DecodeError as fault:
            return f"what is asked about is no job: {fault}"
        fleet = self._coordinator.picture.fleet
        room = self._room()
        if room is None:
            return msgspec.json.encode(_UNKNOWN | {"peak_w": job.peak_w, "says": self._unplanned()})
        highest_w = fleet.max_w[room.idle] if room.idle.any() else fleet.max_w
        peak_w = float(highest_w.max(initial=0.0)) if job.peak_w is None else job.peak_w
        waiting: list[Waiting] = []
        try:
            if job.gpus is not None:
                waiting = [Waiting(job="asked", gpus=job.gpus, peak_w=peak_w)]
        except UnfitWaiting as fault:
            return str(fault)
        running = self._running()  # of the same moment: it may be another fleet's once the lock is ours
        async with self._one_reckons:
            return await asyncio.to_thread(_told, _hall(fleet), room, running, waiting, peak_w)

    def _room(self) -> Room | None:
        """What is free now, in columns of its own; None before the first plan of the present fleet."""
        coordinator, picture = self._coordinator, self._coordinator.picture
        decision, sums, situation, seen = (
            coordinator.decision,
            coordinator.sums,
            coordinator.situation,
            picture.observation,
        )
        domains, boards = len(picture.fleet.domains), len(picture.fleet.gpus)
        if decision is None or sums is None or situation is None:
            return None
        if len(sums.room_w) != domains or len(sums.board_w) != boards or len(decision.observed_w) != domains:
            return None
        read = seen.unread_s <= UNREAD_S
        drawn_w = np.where(read, seen.gpu_w, np.nan)
        mean_w = picture.walls.target_means_w() + picture.walls.standing_w(situation.unmanaged_target_w)
        hard_w = sums.room_w.copy()
        hard_w[list(sums.blocked)] = np.nan
        return Room(
            idle=(seen.layout.job_of < 0) & self._reached(read),
            drawn_w=drawn_w,
            # What is not ours counts by what it draws, in the load that nobody manages.
            counted_w=np.where(picture.managed, sums.board_w, drawn_w),
            target_w=picture.target_meant_w - np.fmax(mean_w, decision.observed_w),
            hard_w=hard_w,
        )

    def _reached(self, read: Bools) -> Bools:
        """(G,) boards that were read just now, on nodes that neither left nor are dark."""
        safety = self._coordinator.picture.safety
        away = safety.ledger.dark | safety.leavings.away()
        return np.asarray(read & ~away[safety.fleet.gpu_node], dtype=np.bool_)

    def _running(self) -> list[Running]:
        seen = self._coordinator.picture.observation
        peaks_w: Floats = seen.peak_w
        return [
            Running(
                job=job.id,
                boards=np.array(job.gpus, dtype=np.int64),
                peak_w=float(peaks_w[row]),
                weight=job.weight,
            )
            for row, job in enumerate(seen.layout.jobs)
        ]


def _hall(fleet: Fleet) -> Hall:
    links = fleet.weights.of_domains
    order = np.argsort(links.below, kind="stable")
    starts = np.searchsorted(links.below[order], np.arange(len(fleet.domains) + 1))
    where = fleet.node_domain[fleet.gpu_node]
    boards = np.argsort(where, kind="stable")
    first = np.searchsorted(where[boards], np.arange(len(fleet.domains) + 1))
    branches, rows = [], np.unique(where)
    for row in rows.tolist():
        entries = order[starts[row] : starts[row + 1]]
        branches.append(
            Branch(
                id=fleet.domains[row],
                boards=boards[first[row] : first[row + 1]],
                above=links.above[entries],
                target_share=links.normal[entries],
                hard_share=links.worst[entries],
            )
        )
    return Hall(
        branches=tuple(branches),
        domains=fleet.domains,
        branch_of=np.searchsorted(rows, where),
        slope=fleet.gpu_slope,
        max_w=fleet.max_w,
        rest_w=fleet.min_w,
    )


def _told(hall: Hall, room: Room, running: list[Running], waiting: list[Waiting], peak_w: float) -> bytes:
    found = fragmentation(hall, room, peak_w)
    rows = sorted(found.branches, key=lambda one: (-one.gpus, one.branch))
    return msgspec.json.encode(
        {
            "peak_w": peak_w,
            "largest": found.largest,
            "in_sum": found.in_sum,
            "index": found.index,
            "branches": rows[:BRANCHES_TOLD],
            "left_out": max(0, len(rows) - BRANCHES_TOLD),
            "plan": plan(hall, room, running, waiting),
            "says": "",
        }
    )
