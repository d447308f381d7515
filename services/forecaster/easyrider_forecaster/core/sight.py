"""What the boards of each group can show of a wave, and what was announced of it."""

from dataclasses import dataclass

import numpy as np

from easyrider_forecaster.core.arrays import SLOT_S, Array
from easyrider_forecaster.core.intake import Intake


@dataclass(frozen=True, slots=True)
class Sight:
    """One entry a row."""

    slowest_s: Array  # of refresh, window and sampling step: a period needs two of it
    partial: Array  # the instant field looks at a part of the time only
    boards: Array
    announced_s: Array  # iteration period by phase marks, NaN: none

    @classmethod
    def plain(cls, rows: int) -> "Sight":
        """Boards one by one, sampled at 10 Hz, whose instant field leaves time unseen."""
        return cls(
            slowest_s=np.full(rows, SLOT_S),
            partial=np.ones(rows, np.bool_),
            boards=np.ones(rows, np.int64),
            announced_s=np.full(rows, np.nan),
        )


def sight(intake: Intake, rows: int, boards: Array) -> Sight:
    """Of every group of a region; `boards` (rows,) is how many each has."""
    slowest, partial = np.full(rows, SLOT_S), np.zeros(rows, np.bool_)
    members, nodes = intake.boards.group, intake.boards.node_of
    each_s = np.array([intake.slowest_s.get(node, SLOT_S) for node in nodes])
    each_partial = np.array([intake.partial.get(node, True) for node in nodes], np.bool_)
    np.maximum.at(slowest, members, each_s)
    np.logical_or.at(partial, members, each_partial)
    announced_s, now_s = np.full(rows, np.nan), intake.boards.closed_before * SLOT_S
    for group in intake.groups.known.values():
        said_s = intake.marks.period_s(group.id, now_s) if group.kind == "job" else None
        if said_s is not None:
            announced_s[group.row] = said_s
    return Sight(slowest, partial, boards, announced_s)
