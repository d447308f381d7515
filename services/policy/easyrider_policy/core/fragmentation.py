"""How large a job could start, branch by branch: idle boards, and room under every target and hard limit above them.

Advice: nothing is planned by it. A board that starts adds what it would draw beyond what it draws and counts already.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

SLACK_W: Final = 1e-6


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Branch:
    """A domain with nodes of its own: its boards, and what share of their watts each domain above carries."""

    id: str
    boards: Ints
    above: Ints  # rows of domains, its own among them
    target_share: Floats  # every feed working
    hard_share: Floats  # the worst single loss of a feed


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Hall:
    """G boards on branches below D domains. Watts of boards; `slope` makes them wall watts."""

    branches: tuple[Branch, ...]
    domains: tuple[str, ...]
    branch_of: Ints  # (G,)
    slope: Floats  # (G,)
    max_w: Floats  # (G,)
    rest_w: Floats  # (G,) what a board draws and counts once no job is on it, at most


@dataclass(eq=False, slots=True, kw_only=True)
class Room:
    """What is free in a hall. Wall watts of domains (D,); NaN: not known, and then nothing starts below."""

    idle: Bools  # (G,)
    drawn_w: Floats  # (G,)
    counted_w: Floats  # (G,)
    target_w: Floats
    hard_w: Floats
    kept: set[int] = field(default_factory=set)  # branches kept for a job that waits for them

    def copy(self) -> "Room":
        """The same, to try something in."""
        return Room(
            idle=self.idle.copy(),
            drawn_w=self.drawn_w.copy(),
            counted_w=self.counted_w.copy(),
            target_w=self.target_w.copy(),
            hard_w=self.hard_w.copy(),
            kept=set(self.kept),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Startable:
    """The largest job that could start in one branch now; `binds`: what stops a larger one."""

    branch: str
    idle: int
    gpus: int
    binds: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragmentation:
    """`index`: 0: all that could start could be one job in one branch; towards 1: it lies in splinters; None: nothing
    could start, and so nothing is splintered."""

    peak_w: float
    branches: tuple[Startable, ...]
    largest: int
    in_sum: int
    index: float | None


def fragmentation(hall: Hall, room: Room, peak_w: float) -> Fragmentation:
    """What could start now of jobs that draw `peak_w` per GPU."""
    told = tuple(_startable(hall, room, at, peak_w) for at in range(len(hall.branches)))
    largest = max((one.gpus for one in told), default=0)
    in_sum = sum(len(boards) for boards in everywhere(hall, room, peak_w).values())
    return Fragmentation(
        peak_w=peak_w,
        branches=told,
        largest=largest,
        in_sum=in_sum,
        index=max(0.0, 1.0 - largest / in_sum) if in_sum else None,
    )


def fitting(hall: Hall, room: Room, at: int, peak_w: float) -> Ints:
    """Boards of a branch that could start together at this peak, those that add least first."""
    return _fitting(hall, room, at, peak_w)[0]


def everywhere(hall: Hall, room: Room, peak_w: float) -> dict[int, Ints]:
    """Boards by branch that could start together, over all branches, from the roomiest on."""
    left = room.copy()
    order = sorted(range(len(hall.branches)), key=lambda at: (-len(fitting(hall, left, at, peak_w)), at))
    found = {}
    for at in order:
        found[at] = fitting(hall, left, at, peak_w)
        start(hall, left, at, found[at], peak_w)
    return found


def start(hall: Hall, room: Room, at: int, boards: Ints, peak_w: float) -> None:
    """Take these boards of a branch for a job."""
    draw_w = np.minimum(peak_w, hall.max_w[boards])
    target_w, hard_w = _added(hall, room, boards, peak_w)
    _fill(hall.branches[at], room, float(target_w.sum()), float(hard_w.sum()))
    room.drawn_w[boards] = np.fmax(room.drawn_w[boards], draw_w)
    room.counted_w[boards] = np.fmax(room.counted_w[boards], draw_w)
    room.idle[boards] = False


def end(hall: Hall, room: Room, boards: Ints) -> None:
    """The job on these boards is over: they are idle, at rest."""
    where = hall.branch_of[boards]
    for at in np.unique(where).tolist():
        mine = boards[where == at]
        rest_w = hall.rest_w[mine]
        drawn_w, counted_w = np.fmax(room.drawn_w[mine], rest_w), np.fmax(room.counted_w[mine], rest_w)
        _fill(
            hall.branches[at],
            room,
            -float((hall.slope[mine] * (drawn_w - rest_w)).sum()),
            -float((hall.slope[mine] * (counted_w - rest_w)).sum()),
        )
    room.drawn_w[boards] = np.fmin(room.drawn_w[boards], hall.rest_w[boards])
    room.counted_w[boards] = np.fmin(room.counted_w[boards], hall.rest_w[boards])
    room.idle[boards] = True


def _fitting(hall: Hall, room: Room, at: int, peak_w: float) -> tuple[Ints, str]:
    branch = hall.branches[at]
    if at in room.kept:
        return branch.boards[:0], "kept for a job that waits for it"
    boards = branch.boards[room.idle[branch.boards]]
    target_w, hard_w = _added(hall, room, boards, peak_w)
    order = np.lexsort((boards, hard_w, target_w))
    boards, least, binds = boards[order], len(boards), "idle"
    for name, added_w, shares, room_w in (
        ("target", target_w, branch.target_share, room.target_w),
        ("hard", hard_w, branch.hard_share, room.hard_w),
    ):
        sums_w = np.cumsum(added_w[order])
        for place, share in zip(branch.above.tolist(), shares.tolist(), strict=True):
            count = int((share * sums_w <= room_w[place] + SLACK_W).sum())
            if count < least:
                least, binds = count, f"{name}:{hall.domains[place]}"
    return boards[:least], binds


def _startable(hall: Hall, room: Room, at: int, peak_w: float) -> Startable:
    boards, binds = _fitting(hall, room, at, peak_w)
    branch = hall.branches[at]
    idle = int(room.idle[branch.boards].sum())
    return Startable(branch=branch.id, idle=idle, gpus=len(boards), binds=binds)


def _added(hall: Hall, room: Room, boards: Ints, peak_w: float) -> tuple[Floats, Floats]:
    """Wall watts that each board adds to what is drawn, and to what could be; all of it where neither is known."""
    draw_w, slope = np.minimum(peak_w, hall.max_w[boards]), hall.slope[boards]
    target_w = slope * np.maximum(0.0, draw_w - np.nan_to_num(room.drawn_w[boards], nan=0.0))
    hard_w = slope * np.maximum(0.0, draw_w - np.nan_to_num(room.counted_w[boards], nan=0.0))
    return target_w, hard_w


def _fill(branch: Branch, room: Room, target_w: float, hard_w: float) -> None:
    room.target_w[branch.above] -= branch.target_share * target_w
    room.hard_w[branch.above] -= branch.hard_share * hard_w


def names(hall: Hall, rows: Sequence[int]) -> tuple[str, ...]:
    """Ids of branches."""
    return tuple(hall.branches[row].id for row in rows)
