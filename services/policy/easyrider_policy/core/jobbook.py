"""Jobs of a region, merged from what each node says about its own boards."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider.messages import JobEvent
from easyrider.tree import MODES, PriorityClass
from easyrider_policy.core.fleet import Fleet
from easyrider_policy.core.layout import Job
from easyrider_policy.core.modes import Labels
from easyrider_policy.core.unsaid import Mark, Unsaid

FORGET_S = 45.0
"""Telemetry says every running job again each 10 s: one unsaid for longer on a node that talks has ended."""
LONG_AGO_S = -1e9
TALKS_S = 3.0
"""A node whose frames are younger than this talks."""


@dataclass(slots=True)
class Piece:
    """One job on one node."""

    gpus: tuple[str, ...]
    since_s: float
    mark: Mark


@dataclass(slots=True)
class Entry:
    """One job as merged so far."""

    type_key: str
    priority_class: str
    tenant: str
    queue: str
    started_s: float
    pieces: dict[str, Piece]


class JobBook:
    """Every job heard of, by id."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self._unsaid = Unsaid(FORGET_S)
        self._found: tuple[Fleet, dict[str, tuple[int, ...]]] | None = None  # rows, until something is heard

    def heard(self, event: JobEvent, minted_s: float) -> bool:
        """Take an event; whether anything changed that a plan must know at once."""
        moved = self._heard(event, minted_s)
        if moved:
            self._found = None
        return moved

    def _heard(self, event: JobEvent, minted_s: float) -> bool:
        if event.change == "ended":
            return self._ended(event.job, event.node)
        entry = self.entries.get(event.job)
        fresh = entry is None
        if entry is None:
            # A job first heard of while it runs started before us; its start is no news.
            started_s = minted_s if event.change == "started" else LONG_AGO_S
            entry = Entry(event.type_key, event.priority_class, event.tenant, event.queue, started_s, {})
            self.entries[event.job] = entry
        before = entry.pieces.get(event.node)
        moved = before is None or before.gpus != event.gpus
        if moved and not fresh and event.change == "started":
            entry.started_s = minted_s
        told = (event.type_key, event.priority_class, event.tenant, event.queue)
        moved |= told != (entry.type_key, entry.priority_class, entry.tenant, entry.queue)
        entry.type_key, entry.priority_class, entry.tenant, entry.queue = told
        if before is None:
            before = entry.pieces[event.node] = Piece(event.gpus, minted_s, Mark(event.job, event.node))
        elif before.gpus != event.gpus:
            before.gpus, before.since_s = event.gpus, minted_s
        self._unsaid.said(before.mark, minted_s)
        return fresh or moved

    def forget_unsaid(self, heard_s: dict[str, float], now_s: float) -> bool:
        """Drop pieces that a talking node no longer says; `heard_s`: when each node's frames last came."""
        gone = self._unsaid.of_talking(heard_s, now_s, TALKS_S)
        for mark in gone:
            self._ended(mark.job, mark.node)
        if gone:
            self._found = None
        return bool(gone)

    def labels(self, fleet: Fleet) -> list[Labels]:
        """What mode selectors may match of each job, by id."""
        rows = self._rows(fleet)
        return [
            Labels(job=job_id, tenant=entry.tenant, queue=entry.queue, gpus=rows[job_id])
            for job_id, entry in sorted(self.entries.items())
        ]

    def jobs(self, fleet: Fleet, priorities: dict[str, PriorityClass], modes: NDArray[np.int64]) -> list[Job]:
        """The planner's jobs on this fleet, by id; boards nobody has reported are left out.

        `modes` (G,) index `MODES`; boards of a job have one mode.
        """
        rows, mode_of = self._rows(fleet), modes.tolist()
        return [
            _job(job_id, entry, rows[job_id], priorities, mode_of)
            for job_id, entry in sorted(self.entries.items())
        ]

    def _rows(self, fleet: Fleet) -> dict[str, tuple[int, ...]]:
        """Fleet rows of each job; a board that two jobs claim is with the one that took it last.

        A node speaks for its own boards alone: what it says of another's is left out.
        """
        if self._found is not None and self._found[0] is fleet:
            return self._found[1]
        index, gpu_node, node_index = fleet.gpu_index, fleet.gpu_node.tolist(), fleet.node_index
        held: dict[int, tuple[float, str]] = {}
        for job_id, entry in sorted(self.entries.items()):
            for node, piece in entry.pieces.items():
                claim, home = (piece.since_s, job_id), node_index.get(node)
                for uuid in piece.gpus:
                    row = index.get(uuid)
                    if row is not None and gpu_node[row] == home:
                        held[row] = max(held.get(row, claim), claim)
        rows: dict[str, list[int]] = {job_id: [] for job_id in self.entries}
        for row, (_, job_id) in sorted(held.items()):
            rows[job_id].append(row)
        found = {job_id: tuple(mine) for job_id, mine in rows.items()}
        self._found = fleet, found
        return found

    def _ended(self, job: str, node: str) -> bool:
        entry = self.entries.get(job)
        if entry is None or node not in entry.pieces:
            return False
        self._unsaid.ended(entry.pieces.pop(node).mark)
        if not entry.pieces:
            del self.entries[job]
        return True


def _job(
    job_id: str,
    entry: Entry,
    rows: tuple[int, ...],
    priorities: dict[str, PriorityClass],
    modes: list[int],
) -> Job:
    priority = priorities.get(entry.priority_class, PriorityClass())
    return Job(
        id=job_id,
        gpus=rows,
        type_key=entry.type_key,
        weight=priority.weight,
        max_slowdown=priority.max_slowdown,
        flex_tier=priority.flex_tier,
        least_speed=priority.least_speed,
        mode=MODES[min((modes[row] for row in rows), default=0)],
        started_s=entry.started_s,
    )
