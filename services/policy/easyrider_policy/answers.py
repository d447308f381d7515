"""Everything live as one JSON document, made once for all who ask within a moment, whatever they ask about."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict

import msgspec
import numpy as np

from easyrider.tree import MODES
from easyrider_policy.coordinator import Coordinator
from easyrider_policy.core.fleet import Floats
from easyrider_policy.core.observe import UNREAD_S
from easyrider_policy.core.releases import partings
from easyrider_policy.domain_answers import domains as domains_of
from easyrider_policy.job_answers import GPUS_NAMED, jobs, known
from easyrider_policy.live import (
    LiveBoard,
    LiveDomain,
    LiveJob,
    LiveLead,
    LiveMeter,
    LiveNode,
    LiveState,
)
from easyrider_policy.moment import Moment
from easyrider_policy.room import LARGEST_BODY, STATE_SHARES, cut
from easyrider_policy.telling import target_plans
from easyrider_policy.telling_demands import demand_plans
from easyrider_policy.telling_regions import region_plans

BOARDS_TOLD = 3_000
"""Boards that one answer has room for; more are asked for by node."""
JOBS_TOLD = 2_000
ROOM_OF_A_NODE = 32 * 1024
"""Bytes that stay free for the boards of one node, which are asked for by its name."""
AT_ONCE = 200
"""Jobs that are told before the loop has its turn."""


class Answers:
    """Documents from the coordinator's beliefs. `now_s` is monotonic, `t_ns` Unix.

    Made in parts, between which the loop has its turn, so that no look waits for a whole document.
    """

    def __init__(self, coordinator: Coordinator, now_s: Callable[[], float], t_ns: Callable[[], int]) -> None:
        self._coordinator, self._now_s, self._t_ns = coordinator, now_s, t_ns
        self._moment: Moment | None = None
        self._one_makes = asyncio.Lock()

    async def state(self, node: str = "") -> bytes:
        """Everything, or with a node's name its boards alone beside the rest."""
        async with self._within() as moment:
            found = moment.made.get(("state", node))
            if found is None:
                if not moment.rest:
                    moment.rest, moment.left_out = await self._rest()
                own = self._own(node, moment)
                found = moment.made["state", node] = own if node else moment.rest + own
            return moment.rest + found if node else found

    async def jobs(self, job: str = "") -> bytes | None:
        """Every job, or the one named; None where it is not known."""
        async with self._within() as moment:
            found = moment.made.get(("jobs", job))
            if found is None:
                found = moment.made["jobs", job] = await self._jobs(job)
            return found or None

    @contextlib.asynccontextmanager
    async def _within(self) -> AsyncIterator[Moment]:
        """The moment that stands; what is made within it is taken from its share of time."""
        async with self._one_makes:
            began_s, picture = self._now_s(), self._coordinator.picture
            if self._moment is None or not self._moment.stands(began_s, picture.rules, picture.fleet):
                self._moment = Moment(began_s, picture.rules, picture.fleet)
            yield self._moment
            self._moment.spent_s += self._now_s() - began_s

    async def _rest(self) -> tuple[bytes, dict[str, int]]:
        """What the state of every node has in common, and how many rows of its lists have no room in one answer."""
        every_job = await self._live_jobs("")
        domains = self._domains()
        await asyncio.sleep(0)
        nodes = self._nodes(self._now_s())
        await asyncio.sleep(0)
        whole = msgspec.structs.asdict(self._whole(domains, nodes, every_job))
        del whole["boards"], whole["left_out"]
        told, left_out = cut(whole, STATE_SHARES, LARGEST_BODY - ROOM_OF_A_NODE)
        left_out["jobs"] = left_out.get("jobs", 0) + self._jobs_left_out()
        await asyncio.sleep(0)
        return told, left_out

    def _own(self, node: str, moment: Moment) -> bytes:
        """What is told of a node's boards, of all with no name: the end of a document that `_rest` began."""
        boards, count = self._boards(self._now_s(), node), len(self._coordinator.picture.fleet.gpus)
        left_out = {"boards": 0 if node else count - len(boards), **moment.left_out}
        own = b"," + msgspec.json.encode({"boards": boards, "left_out": left_out})[1:]
        if node or not boards or len(moment.rest) + len(own) <= LARGEST_BODY:
            return own
        return b"," + msgspec.json.encode({"boards": [], "left_out": {**left_out, "boards": count}})[1:]

    async def _jobs(self, only: str) -> bytes:
        found = await self._live_jobs(only)
        if only and not found:
            return b""
        whole: dict[str, object] = {"jobs": found, "left_out": 0 if only else self._jobs_left_out()}
        if below := [one.id for one in self._coordinator.picture.regions.borrowers]:
            whole["regions"] = below  # theirs are not in it
        return msgspec.json.encode(whole)

    async def _live_jobs(self, only: str) -> list[LiveJob]:
        picture = self._coordinator.picture
        layout = picture.observation.layout
        told = picture.observation.job_rows
        rows = list(range(len(layout.jobs)))[:JOBS_TOLD] if not only else [told[only]] if only in told else []
        named = bool(only) or len(picture.fleet.gpus) <= GPUS_NAMED
        found: list[LiveJob] = []
        for begin in range(0, len(rows), AT_ONCE):
            if picture.observation.layout is not layout:
                return found  # jobs came or went; the next answer has them
            found += jobs(self._coordinator, rows[begin : begin + AT_ONCE], named=named)
            await asyncio.sleep(0)
        return found

    def _jobs_left_out(self) -> int:
        return max(0, self._coordinator.picture.observation.layout.job_count - JOBS_TOLD)

    def _whole(self, domains: list[LiveDomain], nodes: list[LiveNode], every_job: list[LiveJob]) -> LiveState:
        """All but the boards, which depend on who asks."""
        coordinator, picture, now_s = self._coordinator, self._coordinator.picture, self._now_s()
        rules, safety, decision = picture.rules, picture.safety, coordinator.decision
        looked = coordinator.looked
        told = (
            {}
            if decision is None or len(decision.missing_w) != len(picture.fleet.domains)
            else dict(zip(picture.fleet.domains, decision.missing_w.tolist(), strict=True))
        )
        quiet = safety.ledger.roll.quiet(now_s)
        leaving = () if looked is None else partings(now_s, safety, looked.sums, picture.managed)
        return LiveState(
            region=picture.region,
            t_ns=self._t_ns(),
            rules={"id": rules.id, "version": rules.version, "unfit": list(picture.unfit)},
            lead=LiveLead(safety.lead.phase, safety.lead.epoch, safety.lead.highest_epoch, safety.lead.why),
            verified=looked is not None and looked.verified,
            reactive=decision is None or decision.reactive,
            domains=domains,
            nodes=nodes,
            boards=[],
            jobs=every_job,
            meters=self._meters(now_s),
            holds=[asdict(hold) for hold in rules.holds],
            targets=list(target_plans(picture)),
            demands=list(demand_plans(picture)),
            releases=[asdict(parting) for parting in leaving],
            demotions=[asdict(demoted) for demoted in picture.demotions.standing.values()],
            infeasible={name: round(watts, 1) for name, watts in told.items() if watts > 0},
            silent_nodes=[picture.fleet.nodes[row] for row in np.flatnonzero(quiet).tolist()],
            left_out={},
            regions=list(region_plans(picture, now_s)),
        )

    def _domains(self) -> list[LiveDomain]:
        return domains_of(self._coordinator, self._now_s())

    def _nodes(self, now_s: float) -> list[LiveNode]:
        picture, safety = self._coordinator.picture, self._coordinator.picture.safety
        fleet, ledger, leavings = picture.fleet, safety.ledger, safety.leavings
        counted_w = np.bincount(fleet.gpu_node, weights=ledger.counted_w(now_s), minlength=len(fleet.nodes))
        quiet, away = ledger.roll.quiet(now_s), leavings.away()
        age_s = np.round(now_s - ledger.roll.heard_s, 3)
        age_s[np.isinf(age_s)] = np.nan  # never heard
        asking = {node for node, request in leavings.waiting.items() if request.whole}
        dark, gone = ledger.dark.tolist(), away.tolist()
        return list(
            map(
                LiveNode,
                fleet.nodes,
                [fleet.domains[row] for row in fleet.node_domain.tolist()],
                np.diff(fleet.first_gpu).tolist(),
                age_s.tolist(),
                quiet.tolist(),
                [epoch if epoch >= 0 else None for epoch in ledger.fence.tolist()],
                safety.commands.based.tolist(),
                [_place(dark[row], gone[row], row in asking) for row in range(len(fleet.nodes))],
                [name in picture.held_nodes for name in fleet.nodes],
                np.round(counted_w, 1).tolist(),
            )
        )

    def _boards(self, now_s: float, node: str) -> list[LiveBoard]:
        picture, safety = self._coordinator.picture, self._coordinator.picture.safety
        fleet, ledger, seen = picture.fleet, safety.ledger, picture.observation
        rows = np.arange(len(fleet.gpus))
        if node:
            rows = rows[fleet.gpus_of(fleet.node_index[node])] if node in fleet.node_index else rows[:0]
        if len(rows) > BOARDS_TOLD:
            return []
        jobs_of = [
            seen.layout.jobs[job].id if job >= 0 else None for job in seen.layout.job_of[rows].tolist()
        ]
        modes = (
            picture.modes[rows]
            if len(picture.modes) == len(fleet.gpus)
            else np.zeros(len(rows), dtype=np.int64)
        )

        def watts(column: Floats) -> list[float]:
            rounded: list[float] = np.round(column[rows], 1).tolist()  # NaN becomes null
            return rounded

        fresh = np.where(seen.unread_s <= UNREAD_S, seen.gpu_w, np.nan)
        return list(
            map(
                LiveBoard,
                [fleet.gpus[row] for row in rows.tolist()],
                [fleet.nodes[row] for row in fleet.gpu_node[rows].tolist()],
                [MODES[mode] for mode in modes.tolist()],
                jobs_of,
                watts(fresh),
                watts(np.where(ledger.told, safety.commands.held.limit_w, np.nan)),
                watts(ledger.requested_w),
                watts(picture.gathering.limit_w),
                watts(ledger.fallback_w),
                watts(ledger.baseline_w),
                watts(ledger.counted_w(now_s)),
                np.round(ledger.overshoot[rows], 4).tolist(),
                watts(fleet.min_w),
                watts(fleet.max_w),
                (fleet.settable & ~ledger.stuck)[rows].tolist(),
                ledger.told[rows].tolist(),
            )
        )

    def _meters(self, now_s: float) -> list[LiveMeter]:
        picture, looked = self._coordinator.picture, self._coordinator.looked
        meters, silent = picture.meters, frozenset() if looked is None else looked.silent_meters
        return [
            LiveMeter(
                domain=record.id,
                meters=record.meters,
                age_s=known(now_s - meters.heard_s[row]),
                period_s=known(meters.period_s[row]),
                gated=bool(meters.gated[row]),
                silent=record.id in silent,
                unmanaged_w=known(meters.present_w[row]),
                negative_w=known(meters.negative_w[row]),
            )
            for row, record in enumerate(picture.fleet.domain_records)
            if record.meters
        ]


def _place(dark: bool, gone: bool, asks: bool) -> str:
    return "dark" if dark else "left" if gone else "asks" if asks else "here"
