"""Everything live as one JSON document, made once for all who ask at the same moment."""

from collections.abc import Callable
from dataclasses import asdict

import msgspec
import numpy as np

from easyrider.tree import MODES
from easyrider_policy.coordinator import Coordinator
from easyrider_policy.core.fleet import Floats
from easyrider_policy.core.holds import reach
from easyrider_policy.core.observe import UNREAD_S
from easyrider_policy.core.releases import partings
from easyrider_policy.job_answers import jobs, known
from easyrider_policy.live import LiveBoard, LiveDomain, LiveLead, LiveMeter, LiveNode, LiveState
from easyrider_policy.telling import target_plans

BOARDS_TOLD = 3_000
"""Boards that one answer has room for; more are asked for by node."""
JOBS_TOLD = 2_000
STANDS_S = 0.25
SHARE = 0.02
"""Of this process's time, the most that answers may take: one that was dear to make stands longer."""


class Answers:
    """Documents from the coordinator's beliefs. `now_s` is monotonic, `t_ns` Unix."""

    def __init__(self, coordinator: Coordinator, now_s: Callable[[], float], t_ns: Callable[[], int]) -> None:
        self._coordinator, self._now_s, self._t_ns = coordinator, now_s, t_ns
        self._made: dict[tuple[str, str], tuple[bytes, float]] = {}  # body, and until when it stands

    def state(self, node: str = "") -> bytes:
        """Everything, or with a node's name its boards alone beside the rest."""
        return self._kept(("state", node), lambda: msgspec.json.encode(self._state(node)))

    def jobs(self, job: str = "") -> bytes | None:
        """Every job, or the one named; None where it is not known."""
        found = self._kept(("jobs", job), lambda: _encoded_jobs(self._coordinator, job))
        return found or None

    def _kept(self, what: tuple[str, str], make: Callable[[], bytes]) -> bytes:
        began_s = self._now_s()
        made = self._made.get(what)
        if made is not None and began_s < made[1]:
            return made[0]
        self._made = {known_as: one for known_as, one in self._made.items() if began_s < one[1]}
        body = make()
        took_s = self._now_s() - began_s
        self._made[what] = (body, began_s + max(STANDS_S, took_s / SHARE))
        return body

    def _state(self, node: str) -> LiveState:
        coordinator, picture, now_s = self._coordinator, self._coordinator.picture, self._now_s()
        rules, safety, decision = picture.rules, picture.safety, coordinator.decision
        looked = coordinator.looked
        boards = self._boards(now_s, node)
        every_job = jobs(coordinator)
        told = (
            {}
            if decision is None
            else dict(zip(picture.fleet.domains, decision.missing_w.tolist(), strict=True))
        )
        quiet = safety.ledger.roll.quiet(now_s)
        return LiveState(
            region=picture.region,
            t_ns=self._t_ns(),
            rules={"id": rules.id, "version": rules.version, "unfit": list(picture.unfit)},
            lead=LiveLead(safety.lead.phase, safety.lead.epoch, safety.lead.highest_epoch, safety.lead.why),
            verified=looked is not None and looked.verified,
            reactive=decision is None or decision.reactive,
            domains=self._domains(),
            nodes=self._nodes(now_s),
            boards=boards,
            jobs=every_job[:JOBS_TOLD],
            meters=self._meters(now_s),
            holds=[asdict(hold) for hold in rules.holds],
            targets=list(target_plans(picture)),
            releases=[]
            if looked is None
            else [asdict(p) for p in partings(now_s, safety, looked.sums, picture.managed)],
            demotions=[asdict(demoted) for demoted in picture.demotions.standing.values()],
            infeasible={name: round(watts, 1) for name, watts in told.items() if watts > 0},
            silent_nodes=[picture.fleet.nodes[row] for row in np.flatnonzero(quiet).tolist()],
            left_out={
                "boards": 0 if node else len(picture.fleet.gpus) - len(boards),
                "jobs": max(0, len(every_job) - JOBS_TOLD),
            },
        )

    def _domains(self) -> list[LiveDomain]:
        picture, decision, looked = (
            self._coordinator.picture,
            self._coordinator.decision,
            self._coordinator.looked,
        )
        fleet, sums = picture.fleet, None if looked is None else looked.sums
        if sums is not None and len(sums.counted_w) != len(fleet.domains):
            sums = None  # of the rules before
        hard_w, target_w, own_w = picture.hard_w, picture.target_w, picture.own_target_w
        held = {hold.id: reach(hold, picture.rules.domains) for hold in picture.rules.holds}
        found = []
        for row, record in enumerate(fleet.domain_records):
            outside = 0 if sums is None else int(sums.uncontrolled[row])
            closed = sums is not None and bool(sums.closed[row])
            found.append(
                LiveDomain(
                    domain=record.id,
                    kind=record.kind,
                    hard_limit_w=known(hard_w[row]),
                    target_w=known(target_w[row]),
                    own_target_w=known(own_w[row]),
                    observed_w=None if decision is None else known(decision.observed_w[row]),
                    counted_w=None if sums is None else known(sums.counted_w[row]),
                    room_w=None if sums is None else known(sums.room_w[row]),
                    unmanaged_w=None if sums is None else known(sums.unmanaged_w[row]),
                    fixed_w=record.fixed_w,
                    budget_w=None if decision is None else known(decision.budget_w[row]),
                    missing_w=None if decision is None else known(decision.missing_w[row]),
                    closed=closed,
                    uncontrolled_gpus=outside,
                    sum_rule=_sum_rule(closed, outside),
                    no_raise="" if sums is None else sums.blocked.get(row, ""),
                    held=tuple(name for name, below in held.items() if below is None or record.id in below),
                )
            )
        return found

    def _nodes(self, now_s: float) -> list[LiveNode]:
        picture, safety = self._coordinator.picture, self._coordinator.picture.safety
        fleet, ledger, leavings = picture.fleet, safety.ledger, safety.leavings
        counted_w = np.bincount(fleet.gpu_node, weights=ledger.counted_w(now_s), minlength=len(fleet.nodes))
        quiet, away = ledger.roll.quiet(now_s), leavings.away()
        age_s = now_s - ledger.roll.heard_s
        asking = {node for node, request in leavings.waiting.items() if request.whole}
        return [
            LiveNode(
                node=name,
                domain=fleet.domains[fleet.node_domain[row]],
                boards=int(fleet.first_gpu[row + 1] - fleet.first_gpu[row]),
                age_s=known(age_s[row]),
                silent=bool(quiet[row]),
                epoch=None if ledger.fence[row] < 0 else int(ledger.fence[row]),
                commanded=bool(safety.commands.based[row]),
                place="dark"
                if ledger.dark[row]
                else "left"
                if away[row]
                else "asks"
                if row in asking
                else "here",
                held=name in picture.held_nodes,
                counted_w=known(counted_w[row]),
            )
            for row, name in enumerate(fleet.nodes)
        ]

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


def _encoded_jobs(coordinator: Coordinator, only: str) -> bytes:
    found = jobs(coordinator, only)
    if only and not found:
        return b""
    whole = {"jobs": found[:JOBS_TOLD], "left_out": max(0, len(found) - JOBS_TOLD)}
    return msgspec.json.encode(whole)


def _sum_rule(closed: bool, outside: int) -> str:
    if closed:
        return "proved"
    return f"sum rule not provable here: {outside} GPUs not controlled"
