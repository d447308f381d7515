"""What to do so that waiting jobs can start: start, reorder, migrate, drain, or wait for the night, ranked.

Advice to a scheduler or an operator. Jobs that wait age, so that none is passed over for ever: each hour adds a job's
own priority once more, and who has starved keeps the branch that is emptied for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from easyrider.errors import EasyRiderError
from easyrider_policy.core.fragmentation import Hall, Room, end, everywhere, fitting, names, start

Ints = NDArray[np.int64]
Act = Literal["start", "reorder", "migrate", "drain", "night_queue", "never"]

AGES_S: Final = 3600.0
STARVED_S: Final = 4 * 3600.0
MOVES: Final = 3
BRANCHES_TRIED: Final = 16
"""On a large site; those with most boards idle."""


class UnfitWaiting(EasyRiderError):
    """A waiting job cannot be ranked; no plan was made."""

    def __init__(self, job: str, field: str, why: str) -> None:
        self.job, self.field, self.why = job, field, why
        super().__init__(f"waiting job {job!r}: {field} {why}; nothing was planned, correct it and ask again")


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A job that waits; `peak_w` per GPU. Raises `UnfitWaiting`."""

    job: str
    gpus: int
    peak_w: float
    waiting_s: float = 0.0
    priority: float = 1.0
    may_span: bool = False  # over several branches

    def __post_init__(self) -> None:
        if self.gpus < 1:
            raise UnfitWaiting(self.job, "gpus", f"is {self.gpus}, and at least 1 is wanted")
        for name in ("peak_w", "priority"):
            value = getattr(self, name)
            if not (isfinite(value) and value > 0):
                raise UnfitWaiting(self.job, name, f"is {value}, and a number above 0 is wanted")
        if not (isfinite(self.waiting_s) and self.waiting_s >= 0):
            raise UnfitWaiting(self.job, "waiting_s", f"is {self.waiting_s}, and 0 or more is wanted")

    @property
    def aged(self) -> float:
        """Its priority, and once more for every hour that it has waited."""
        return self.priority * (1.0 + self.waiting_s / AGES_S)

    @property
    def starved(self) -> bool:
        """It is passed no more."""
        return self.waiting_s >= STARVED_S


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Running:
    """A job that runs; `peak_w` per board."""

    job: str
    boards: Ints
    peak_w: float
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A running job that would go to another branch."""

    job: str
    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What to do for one waiting job."""

    job: str
    act: Act
    aged: float
    starved: bool
    branches: tuple[str, ...] = ()  # where it starts then
    moves: tuple[Move, ...] = ()  # migrate: before
    drains: tuple[str, ...] = ()  # drain: start nothing there, and let these jobs end
    says: str = ""


_Found = tuple[Step, Room]
_MEANS: Final[dict[Act, str]] = {
    "start": "it fits now",
    "reorder": "it fits now, before a job that does not",
    "migrate": "it fits once these jobs run elsewhere",
    "drain": "start nothing else there: it fits once these jobs have ended",
    "night_queue": "it fits in no branch beside what runs elsewhere: queue it for when the site is idle",
    "never": "it is more than any branch carries even alone: give it fewer GPUs, a lower cap, or several branches",
}


def plan(hall: Hall, room: Room, running: Sequence[Running], waiting: Sequence[Waiting]) -> tuple[Step, ...]:
    """One step per waiting job, in the order in which they are due; each rests on those before it."""
    left, passed = room.copy(), False
    empty: Room | None = None
    steps: list[Step] = []
    for job in sorted(waiting, key=lambda one: (-one.aged, one.job)):
        found = _starts(hall, left, job, "reorder" if passed else "start")
        if found is None:
            here = _by_branch(hall, left, running)
            found = _migrates(hall, left, here, job) or _drains(hall, left, here, job)
        if found is None:
            empty = empty or _emptied(hall, room, running)
            steps.append(_step(job, "night_queue" if _place(hall, empty, job) else "never"))
            passed = True
            continue
        step, after = found
        steps.append(step)
        if step.act == "drain":
            passed = True
            if job.starved:
                _keep(hall, left, after, step)
            continue
        if step.act == "migrate":
            gone = {move.job for move in step.moves}
            running = [one for one in running if one.job not in gone]  # where they go is not moved again
        left = after
    return tuple(steps)


def _starts(hall: Hall, room: Room, job: Waiting, act: Act) -> _Found | None:
    """The fullest branches that hold it."""
    places = _place(hall, room, job)
    if not places:
        return None
    after, left = room.copy(), job.gpus
    for at in places:
        boards = fitting(hall, after, at, job.peak_w)[:left]
        start(hall, after, at, boards, job.peak_w)
        left -= len(boards)
    return _step(job, act, branches=names(hall, places)), after


def _migrates(hall: Hall, room: Room, running: dict[int, list[Running]], job: Waiting) -> _Found | None:
    """Small and unimportant jobs of one branch go where they fit, as few boards as possible."""
    tried: list[tuple[int, int, Step, Room]] = []
    for at in _tried(hall, room):
        after, moved = room.copy(), 0
        moves: list[Move] = []
        for one in _within(hall, at, running.get(at, [])):
            if one.weight > job.aged or len(moves) == MOVES:
                continue
            trial = after.copy()
            end(hall, trial, one.boards)
            to = _best(hall, trial, len(one.boards), one.peak_w, _roomy(hall, trial, len(one.boards), at))
            if to is None:
                continue
            start(hall, trial, to, fitting(hall, trial, to, one.peak_w)[: len(one.boards)], one.peak_w)
            after, moved = trial, moved + len(one.boards)
            moves.append(Move(job=one.job, to=hall.branches[to].id))
            boards = fitting(hall, after, at, job.peak_w)
            if len(boards) >= job.gpus:
                start(hall, after, at, boards[: job.gpus], job.peak_w)
                step = _step(job, "migrate", branches=names(hall, [at]), moves=tuple(moves))
                tried.append((moved, at, step, after))
                break
    return _cheapest(tried)


def _drains(hall: Hall, room: Room, running: dict[int, list[Running]], job: Waiting) -> _Found | None:
    """The branch where the fewest boards have to fall idle first."""
    tried: list[tuple[int, int, Step, Room]] = []
    for at in _tried(hall, room):
        gone: list[Running] = []
        for one in sorted(running.get(at, []), key=lambda each: (len(each.boards), each.weight, each.job)):
            if _fits_without(hall, room, gone, at, job) is not None:
                break
            gone.append(one)
        for one in sorted(gone, key=lambda each: (-len(each.boards), each.job)):
            fewer = [other for other in gone if other is not one]
            if _fits_without(hall, room, fewer, at, job) is not None:
                gone = fewer
        after = _fits_without(hall, room, gone, at, job)
        if after is not None:
            step = _step(
                job, "drain", branches=names(hall, [at]), drains=tuple(sorted(one.job for one in gone))
            )
            tried.append((sum(len(one.boards) for one in gone), at, step, after))
    return _cheapest(tried)


def _cheapest(tried: Sequence[tuple[int, int, Step, Room]]) -> _Found | None:
    """By boards, then by branch."""
    if not tried:
        return None
    _boards, _at, step, after = min(tried, key=lambda one: one[:2])
    return step, after


def _fits_without(hall: Hall, room: Room, gone: Sequence[Running], at: int, job: Waiting) -> Room | None:
    after = room.copy()
    for one in gone:
        end(hall, after, one.boards)
    boards = fitting(hall, after, at, job.peak_w)
    if len(boards) < job.gpus:
        return None
    start(hall, after, at, boards[: job.gpus], job.peak_w)
    return after


def _keep(hall: Hall, room: Room, after: Room, step: Step) -> None:
    """What a starved job waits for is given to nobody else."""
    room.kept |= {at for at, branch in enumerate(hall.branches) if branch.id in step.branches}
    room.target_w = np.minimum(room.target_w, after.target_w)
    room.hard_w = np.minimum(room.hard_w, after.hard_w)


def _place(hall: Hall, room: Room, job: Waiting) -> list[int]:
    """The branch it starts in, or branches where it may span; none where it does not fit."""
    at = _best(hall, room, job.gpus, job.peak_w)
    if at is not None:
        return [at]
    if not job.may_span:
        return []
    places, left = [], job.gpus
    for at, boards in everywhere(hall, room, job.peak_w).items():
        if left > 0 and len(boards):
            places.append(at)
            left -= len(boards)
    return places if left <= 0 else []


def _best(hall: Hall, room: Room, gpus: int, peak_w: float, among: Sequence[int] | None = None) -> int | None:
    """The branch that is left with least once it took so many boards; of all, or among these."""
    places = range(len(hall.branches)) if among is None else among
    sizes = [(len(fitting(hall, room, at, peak_w)), at) for at in places]
    return min((one for one in sizes if one[0] >= gpus), default=(0, None))[1]


def _roomy(hall: Hall, room: Room, gpus: int, but: int) -> list[int]:
    """Branches beside one with so many boards idle, the fullest first; not more than are tried."""
    idle = [(int(room.idle[branch.boards].sum()), at) for at, branch in enumerate(hall.branches) if at != but]
    return [at for count, at in sorted(idle) if count >= gpus][:BRANCHES_TRIED]


def _by_branch(hall: Hall, room: Room, running: Sequence[Running]) -> dict[int, list[Running]]:
    """Jobs that still run, under every branch that they have boards in."""
    found: dict[int, list[Running]] = {}
    for one in running:
        if not room.idle[one.boards].all():
            for at in np.unique(hall.branch_of[one.boards]).tolist():
                found.setdefault(at, []).append(one)
    return found


def _emptied(hall: Hall, room: Room, running: Sequence[Running]) -> Room:
    empty = room.copy()
    for one in running:
        end(hall, empty, one.boards)
    return empty


def _within(hall: Hall, at: int, running: Sequence[Running]) -> list[Running]:
    """Of these the jobs that run in this branch alone, least weight and then least watts first."""
    mine = [one for one in running if (hall.branch_of[one.boards] == at).all()]
    return sorted(mine, key=lambda one: (one.weight, one.peak_w * len(one.boards), one.job))


def _tried(hall: Hall, room: Room) -> list[int]:
    idle = [-int(room.idle[branch.boards].sum()) for branch in hall.branches]
    open_ = [at for at in range(len(hall.branches)) if at not in room.kept]
    return sorted(open_, key=lambda at: (idle[at], at))[:BRANCHES_TRIED]


def _step(
    job: Waiting,
    act: Act,
    branches: tuple[str, ...] = (),
    moves: tuple[Move, ...] = (),
    drains: tuple[str, ...] = (),
) -> Step:
    return Step(
        job=job.job, act=act, aged=job.aged, starved=job.starved, branches=branches, moves=moves,
        drains=drains, says=_MEANS[act],
    )  # fmt: skip
