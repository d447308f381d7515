"""Which boards are forecast together: the GPUs of a job, or the idle GPUs of a node."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from easyrider_forecaster.core.arrays import Array
from easyrider_forecaster.core.boards import Boards


@dataclass(frozen=True, slots=True)
class JobOnNode:
    """A job as one node announced it; `start_slot` is the first slot that is wholly the job's."""

    job: str
    node: str
    started_ns: int
    uuids: tuple[str, ...]
    start_slot: int


@dataclass(slots=True)
class Group:
    """One row of the history arrays. `id` is the job's, or the node's for its idle GPUs."""

    kind: Literal["job", "idle"]
    id: str
    row: int
    parts: dict[str, JobOnNode] = field(default_factory=dict)


class Groups:
    """Rows of groups and who belongs to them; a group whose job began anew gets a cleared row."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], Group] = {}
        self.rows = 0
        self.to_clear: list[int] = []
        self.changed = True
        self._free: list[int] = []

    def job(self, job_id: str) -> Group | None:
        """The job of this id, where one runs."""
        return self.known.get(("job", job_id))

    def take(self, part: JobOnNode) -> None:
        """A job runs here with these GPUs. A later start than the one known empties its history."""
        group = self.job(part.job) or self._add("job", part.job)
        before = group.parts.get(part.node)
        if before is not None and before.started_ns == part.started_ns:
            if before.uuids == part.uuids:
                return
        elif before is not None and part.started_ns > before.started_ns:
            self.to_clear.append(group.row)
        elif before is not None:
            return  # an older start, said late
        group.parts[part.node] = part
        self.changed = True

    def drop(self, job: str, node: str) -> None:
        """The job ended on this node; its GPUs there are idle."""
        group = self.job(job)
        if group is None or group.parts.pop(node, None) is None:
            return
        self.changed = True
        if not group.parts:
            self._remove(group)

    def assign(self, boards: Boards, slot: int) -> None:
        """Write the group of every board; one that changed group joins it at its job's start, or at `slot`."""
        wanted = np.full(boards.rows, -1, np.int64)
        joins = np.full(boards.rows, slot, np.int64)
        in_job = np.zeros(boards.rows, np.bool_)
        starts = sorted(
            (
                (part.start_slot, group.row, part)
                for group in self.known.values()
                for part in group.parts.values()
            ),
            key=lambda entry: entry[:2],
        )
        for start_slot, row, part in starts:  # the latest start wins a GPU that two jobs claim
            for uuid in part.uuids:
                found = boards.row_of.get(uuid)
                if found is not None:
                    wanted[found], joins[found], in_job[found] = row, start_slot, True
        for board in np.flatnonzero(wanted < 0).tolist():
            node = boards.node_of[board]
            group = self.known.get(("idle", node)) or self._add("idle", node)
            wanted[board] = group.row
        moved = (wanted != boards.group) | (in_job & (joins > boards.joined))
        boards.joined[moved] = joins[moved]
        boards.group[:] = wanted
        self.changed = False

    def _add(self, kind: Literal["job", "idle"], name: str) -> Group:
        if self._free:
            row = self._free.pop()
        else:
            row, self.rows = self.rows, self.rows + 1
        self.to_clear.append(row)
        group = Group(kind, name, row)
        self.known[kind, name] = group
        return group

    def _remove(self, group: Group) -> None:
        del self.known[group.kind, group.id]
        self._free.append(group.row)


@dataclass(frozen=True, slots=True)
class Membership:
    """Boards in the order of their groups, for sums over groups by `reduceat`."""

    order: Array
    starts: Array
    rows: Array  # group row of each run of boards
    count: Array  # boards of every group row, 0 where it has none

    @classmethod
    def of(cls, boards: Boards, rows: int) -> "Membership":
        """As assigned now; `rows` is how many group rows there are."""
        order = np.argsort(boards.group, kind="stable")
        ordered = boards.group[order]
        starts = np.flatnonzero(np.diff(ordered, prepend=-2))
        return cls(order, starts, ordered[starts], np.bincount(boards.group, minlength=rows))

    def sums(self, values: Array) -> Array:
        """Sums over the boards of each group: (..., boards) -> (..., group rows)."""
        summed = np.zeros((*values.shape[:-1], len(self.count)))
        if len(self.starts):
            summed[..., self.rows] = np.add.reduceat(values[..., self.order], self.starts, axis=-1)
        return summed
