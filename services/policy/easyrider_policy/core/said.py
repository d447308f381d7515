"""What a node says of its boards, as columns: read once as long as the node repeats itself, as it mostly does."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider.messages import GpuAck, GpuState
from easyrider_policy.core.fleet import Bools, Fleet, Floats

Rows = slice | NDArray[np.int64]

TAKES_NO_LIMIT = frozenset({"no_permission", "not_supported", "quarantined"})
"""Refusals of a board that say its limit cannot be relied on."""


@dataclass(frozen=True, eq=False, slots=True)
class AckedBoards:
    """Boards (n,) of one node that an ack shows as read back, and the rows of those that it does not."""

    said: tuple[GpuAck, ...]
    rows: Rows
    holds_w: Floats  # the higher of requested and enforced
    requested_w: Floats
    fallback_w: Floats  # NaN: none
    most_w: Floats  # the highest of the three
    armed: Bools
    refuses: Bools  # takes no limit
    unread: NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class ShownBoards:
    """Boards of one node as its state shows them: (n,) all, (m,) those whose limits were read."""

    said: tuple[GpuState, ...]
    rows: Rows
    settable: Bools  # (n,)
    controlled: Bools  # (n,)
    baseline_w: Floats  # (n,) NaN: never armed
    read: Rows
    most_w: Floats  # (m,) the highest of requested, enforced and fallback
    taken: tuple[tuple[int, float, float], ...]  # of those armed with a fallback: row, `most_w`, fallback

    def some(self, which: Bools) -> "ShownBoards":
        """Those that are marked (n,), of boards of many nodes whose limits were all read."""
        rows = np.asarray(self.rows)[which]
        return ShownBoards(
            said=(),
            rows=rows,
            settable=self.settable[which],
            controlled=self.controlled[which],
            baseline_w=self.baseline_w[which],
            read=rows,
            most_w=self.most_w[which],
            taken=(),
        )


def acked_boards(fleet: Fleet, node: int, said: tuple[GpuAck, ...]) -> AckedBoards:
    """Columns of an ack of this node; of a board named twice the last word."""
    boards = {board.uuid: board for board in said}
    rows: list[int] = []
    found: list[tuple[float, float, float, bool]] = []
    unread: list[int] = []
    for row in range(*fleet.gpus_of(node).indices(len(fleet.gpus))):
        board = boards.get(fleet.gpus[row])
        if board is None or board.enforced_w is None or board.requested_w is None:
            unread.append(row)
            continue
        rows.append(row)
        back_w = np.nan if board.fallback_w is None else board.fallback_w
        higher_w = max(board.enforced_w, board.requested_w)
        found.append((higher_w, board.requested_w, back_w, board.refused in TAKES_NO_LIMIT))
    holds_w, requested_w, fallback_w, refuses = _columns(found, 4)
    return AckedBoards(
        said=said,
        rows=_as_slice(rows),
        holds_w=holds_w,
        requested_w=requested_w,
        fallback_w=fallback_w,
        most_w=np.fmax(holds_w, fallback_w),
        armed=~np.isnan(fallback_w),
        refuses=refuses > 0,
        unread=np.array(unread, dtype=np.int64),
    )


def shown_boards(fleet: Fleet, node: int, said: tuple[GpuState, ...]) -> ShownBoards:
    """Columns of a state of this node; boards not its own are left out, of one named twice the worst stands."""
    found: dict[int, tuple[bool, bool, float]] = {}
    read: dict[int, float] = {}
    taken: list[tuple[int, float, float]] = []
    for board in said:
        row = fleet.gpu_index.get(board.uuid)
        if row is None or fleet.gpu_node[row] != node:
            continue
        settable, controlled, _ = found.get(row, (True, True, np.nan))
        baseline_w = np.nan if board.baseline_w is None else board.baseline_w
        found[row] = (settable and board.settable, controlled and board.controlled, baseline_w)
        if board.enforced_w is None or board.requested_w is None:
            continue
        most_w = max(board.enforced_w, board.requested_w, board.fallback_w or 0.0)
        read[row] = max(most_w, read.get(row, 0.0))
        if board.controlled and board.fallback_w is not None:
            taken.append((row, most_w, board.fallback_w))
    takes, held, begun_w = _columns(list(found.values()), 3)
    return ShownBoards(
        said=said,
        rows=_as_slice(list(found)),
        settable=takes > 0,
        controlled=held > 0,
        baseline_w=begun_w,
        read=_as_slice(list(read)),
        most_w=np.array(list(read.values()), dtype=np.float64),
        taken=tuple(taken),
    )


def read_back(
    rows: NDArray[np.int64], requested_w: Floats, enforced_w: Floats, fallback_w: Floats
) -> AckedBoards:
    """Boards (n,) of any nodes, all of them read back and none refusing; NaN: no fallback."""
    holds_w = np.maximum(enforced_w, requested_w)
    return AckedBoards(
        said=(),
        rows=rows,
        holds_w=holds_w,
        requested_w=requested_w,
        fallback_w=fallback_w,
        most_w=np.fmax(holds_w, fallback_w),
        armed=~np.isnan(fallback_w),
        refuses=np.zeros(len(rows), dtype=np.bool_),
        unread=np.zeros(0, dtype=np.int64),
    )


def _columns(rows: Sequence[Sequence[float]], count: int) -> list[Floats]:
    return list(np.array(rows, dtype=np.float64).reshape(-1, count).T.copy())


def _as_slice(rows: list[int]) -> Rows:
    """Rows that stand side by side as a slice, which reads without a copy."""
    if rows and rows == list(range(rows[0], rows[0] + len(rows))):
        return slice(rows[0], rows[0] + len(rows))
    return np.array(rows, dtype=np.int64)
