"""Why one GPU, job or domain is limited, as people ask: what binds, what it costs, what would free it.

The rows are those of the other answers, with the explanation beside them.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from easyrider.tree import MODES
from easyrider_policy.coordinator import Coordinator
from easyrider_policy.core import explain
from easyrider_policy.core.observe import UNREAD_S
from easyrider_policy.core.records import Decision
from easyrider_policy.core.solution import Solution
from easyrider_policy.core.ways import Way, ways_of
from easyrider_policy.domain_answers import domains
from easyrider_policy.job_answers import jobs, known
from easyrider_policy.lent_by_parent import lent_by_parent
from easyrider_policy.telling import lowering

_RAISES = {"raise_target": "target", "raise_hard_limit": "hard"}
MET_W = 0.5
"""By which a board may enforce less than it was asked to: rounding of its driver."""


class ExplainAnswers:
    """Documents from the coordinator's last decision; nothing is planned for them. `now_s` is monotonic."""

    def __init__(self, coordinator: Coordinator, now_s: Callable[[], float]) -> None:
        self._coordinator, self._now_s = coordinator, now_s

    def of(self, kind: str, name: str) -> bytes | None:
        """A gpu, job or domain by its id, as JSON; None where it is not known."""
        found = {"gpu": self._gpu, "job": self._job, "domain": self._domain}[kind](name)
        return None if found is None else msgspec.json.encode(found)

    def _planned(self) -> tuple[Decision, Solution] | None:
        """The last decision, unless jobs came or went since; the next one is due within a period."""
        decision = self._coordinator.decision
        solution = None if decision is None else decision.memory.solution
        if decision is None or solution is None:
            return None
        fits = solution.problem.layout is self._coordinator.picture.observation.layout
        return (decision, solution) if fits else None

    def _job(self, name: str) -> dict[str, Any] | None:
        row = self._coordinator.picture.observation.job_rows.get(name)
        if row is None:
            return None
        (told,) = jobs(self._coordinator, [row], named=True)
        planned = self._planned()
        if planned is None:
            explained: dict[str, Any] = {"binds": (), "cost": None, "frees": ways_of("unplanned")}
        else:
            found = explain.job(*planned, row, [told.reason, told.waiting_for])
            frees = self._asked_above(found.frees)
            explained = {"binds": found.binds, "cost": found.cost, "frees": frees}
        return msgspec.structs.asdict(told) | explained

    def _domain(self, name: str) -> dict[str, Any] | None:
        picture = self._coordinator.picture
        row = picture.fleet.domain_index.get(name)
        if row is None:
            return None
        told = domains(self._coordinator, self._now_s())[row]
        planned = self._planned()
        lowered = lowering(picture)
        reasons = [*dict.fromkeys(lowered.get(f"{kind}:{name}", "") for kind in ("target", "hard"))]
        reasons += [told.no_raise, *(f"hold:{held}" for held in told.held)]
        reasons += [f"loss:{lost}" for lost in told.losses]
        asked = [way for name in told.regions for way in ways_of(f"region:{name}")]
        own = tuple(way for reason in reasons for way in ways_of(reason))
        explained: dict[str, Any] = {
            "binds": None,
            "frees": (*own, *asked) if asked else ways_of("unplanned"),
        }
        if planned is not None:
            found = explain.domain(*planned, row, reasons)
            explained = {key: getattr(found, key) for key in found.__slots__}
            explained["frees"] = (*self._asked_above(explained["frees"]), *asked)
        return msgspec.structs.asdict(told) | explained

    def _gpu(self, uuid: str) -> dict[str, Any] | None:
        picture, safety = self._coordinator.picture, self._coordinator.picture.safety
        fleet, ledger, seen, now_s = picture.fleet, safety.ledger, picture.observation, self._now_s()
        row = fleet.gpu_index.get(uuid)
        if row is None:
            return None
        at = seen.layout.job_of[row]
        job = None if at < 0 else self._job(seen.layout.jobs[at].id)
        own = self._own_reasons(row, idle=job is None)
        waits = self._waits(row)
        fresh_w = seen.gpu_w[row] if seen.unread_s[row] <= UNREAD_S else np.nan
        above = fleet.ancestors(int(fleet.gpu_node[row]))
        return {
            "gpu": uuid,
            "node": fleet.nodes[fleet.gpu_node[row]],
            "domains": [fleet.domains[place] for place in above.tolist()],
            "mode": self._mode(row),
            "power_w": known(fresh_w),
            "limit_w": known(safety.commands.held.limit_w[row] if ledger.told[row] else np.nan),
            "requested_w": known(ledger.requested_w[row]),
            "enforced_w": known(picture.gathering.limit_w[row]),
            "fallback_w": known(ledger.fallback_w[row]),
            "counted_w": known(ledger.counted_w(now_s)[row]),
            "min_w": known(fleet.min_w[row]),
            "max_w": known(fleet.max_w[row]),
            "reason": own[0] if own else "unplanned" if job is None else job["reason"],
            "waiting_for": waits,
            "frees": [
                *(way for reason in dict.fromkeys([*own, waits]) for way in ways_of(reason)),
                *(() if job is None else job["frees"]),
            ],
            "job": job,
        }

    def _asked_above(self, frees: tuple[Way, ...]) -> tuple[Way, ...]:
        """Where a limit of the root is what the parent lends, it is the parent that would have to lend more."""
        lent = lent_by_parent(self._coordinator.picture)
        found = [
            replace(above, by_w=way.by_w)
            for way in frees
            for above in ways_of(lent.get(f"{_RAISES.get(way.act)}:{way.place}", ""))
        ]
        asked = {way.place for way in found}
        return (
            *found,
            *(
                way
                for way in frees
                if f"{_RAISES.get(way.act)}:{way.place}" not in lent
                and not (way.act == "ask_parent" and way.place in asked)
            ),
        )

    def _own_reasons(self, row: int, *, idle: bool) -> list[str]:
        """What limits this board by itself, whatever its job is due; the first counts most."""
        picture, ledger = self._coordinator.picture, self._coordinator.picture.safety.ledger
        node = int(picture.fleet.gpu_node[row])
        name = picture.fleet.nodes[node]
        asked_w, held_w = ledger.requested_w[row], picture.gathering.limit_w[row]
        said = {
            "not_ours": self._mode(row) not in ("pilot", "enforce"),
            f"left:{name}": bool(ledger.dark[node] | picture.safety.leavings.away()[node]),
            f"silent:{name}": bool(ledger.roll.quiet(self._now_s())[node]),
            "stuck": bool(ledger.stuck[row]),
            "held_lower": bool(held_w < asked_w - MET_W),
            "idle": idle,
        }
        return [reason for reason, holds in said.items() if holds]

    def _mode(self, row: int) -> str:
        picture = self._coordinator.picture
        return MODES[picture.modes[row]] if row < len(picture.modes) else MODES[0]

    def _waits(self, row: int) -> str:
        """Why a raise of this board waits, if one does; of a job's board its job's answer tells."""
        looked = self._coordinator.looked
        if looked is None:
            return ""
        found = np.flatnonzero(looked.orders.waiting.gpu == row)
        return looked.orders.waiting[int(found[0])].why if len(found) else ""
