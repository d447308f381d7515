"""What was learned of boards and jobs, as it is kept over a restart, and how it comes back.

It comes back to the same board, and to a job of the same id on the same boards, once, and only where nothing was
learned anew yet. Overshoot that comes back counts as none at least, as that of a board nobody knows: what was kept can
make the planner more careful, never less. A curve that comes back moves as any curve does; a wrong one costs speed and
never a limit.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isfinite
from typing import Final

import numpy as np

from easyrider_policy.core import curves
from easyrider_policy.core.learned_curves import ENOUGH, MEMORY, LearnedCurves
from easyrider_policy.core.observe import Observation
from easyrider_policy.core.overshoot import PLAUSIBLE, Overshoot

LEAST_S: Final = 5.0
"""A board that was watched for less says too little to be kept, and one watched so long anew has its own word."""
Pair = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Of one job: its place in the bank of shapes, and the sums that it was judged by (`LearnedCurves`)."""

    gpus: list[str]  # sorted
    shape: int
    trusted: bool
    heard: float
    sums: list[list[float]]  # (2, shapes)
    told: list[float]  # (2,)


@dataclass(slots=True, kw_only=True)
class Learned:
    """Draw per watt of limit by board, with the seconds it was watched; curves by job."""

    boards: dict[str, Pair] = field(default_factory=dict)
    jobs: dict[str, Curve] = field(default_factory=dict)


def gathered(seen: Observation) -> Learned:
    """What is worth keeping of it. For the loop's thread: columns are copied, and nothing else is done."""
    overshoot, learned, layout = seen.overshoot, seen.learned, seen.layout
    rows = np.flatnonzero(overshoot.learned_s >= LEAST_S)
    told = zip(rows.tolist(), overshoot.ratio[rows].tolist(), overshoot.learned_s[rows].tolist(), strict=True)
    gpus = layout.fleet.gpus
    return Learned(
        boards={gpus[row]: (ratio, watched_s) for row, ratio, watched_s in told},
        jobs={
            layout.jobs[row].id: Curve(
                gpus=sorted(gpus[board] for board in layout.jobs[row].gpus),
                shape=int(learned.shape[row]),
                trusted=bool(learned.trusted[row]),
                heard=float(learned.heard[row]),
                sums=learned.sums[:, :, row].tolist(),
                told=learned.told[:, row].tolist(),
            )
            for row in np.flatnonzero(learned.heard >= ENOUGH).tolist()
        },
    )


def sane(kept: Learned) -> Learned:
    """The same without what no reading can have taught."""
    return Learned(
        boards={uuid: pair for uuid, pair in kept.boards.items() if _plausible(*pair)},
        jobs={job: curve for job, curve in kept.jobs.items() if _possible(curve)},
    )


def recall(seen: Observation, kept: Learned) -> None:
    """Give boards and jobs that are here what was kept of them, and take it out of `kept`."""
    layout = seen.layout
    for row, uuid in enumerate(layout.fleet.gpus) if kept.boards else ():
        if (pair := kept.boards.pop(uuid, None)) is not None:
            _of_board(seen.overshoot, row, pair)
    for row, job in enumerate(layout.jobs) if kept.jobs else ():
        if (curve := kept.jobs.pop(job.id, None)) is not None:
            _of_job(seen.learned, row, curve, (layout.fleet.gpus[board] for board in job.gpus))


def _of_board(overshoot: Overshoot, row: int, pair: Pair) -> None:
    if overshoot.learned_s[row] < LEAST_S:
        overshoot.recall(row, *pair)


def _of_job(learned: LearnedCurves, row: int, curve: Curve, gpus: Iterable[str]) -> None:
    if learned.heard[row] == 0.0 and curve.gpus == sorted(gpus):
        learned.recall(
            row, curve.shape, curve.trusted, curve.heard, np.array(curve.sums), np.array(curve.told)
        )


def _plausible(ratio: float, watched_s: float) -> bool:
    return PLAUSIBLE[0] <= ratio <= PLAUSIBLE[1] and isfinite(watched_s) and watched_s >= LEAST_S


def _possible(curve: Curve) -> bool:
    sums = [value for row in curve.sums for value in row]
    return (
        0 <= curve.shape < curves.SHAPES
        and ENOUGH <= curve.heard <= MEMORY
        and [len(row) for row in curve.sums] == [curves.SHAPES] * 2
        and len(curve.told) == 2
        and all(isfinite(value) for value in [*sums, *curve.told])
    )
