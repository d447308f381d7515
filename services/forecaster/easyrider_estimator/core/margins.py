"""How far an estimate may be off: quantiles of how far it was off on jobs it had not learned from.

Source: cross-conformal prediction with signed residuals (Vovk, 2015); the count of each tail is rounded outwards, so
that a margin holds for as many of the next jobs as it claims, if these come from where the known ones came from.
"""

import math
from collections.abc import Mapping, Sequence

from easyrider.messages.base import Record
from easyrider_estimator.core.boards import Number

COVERAGE = 0.9
FEWEST = 40
"""Jobs below which no margin is drawn, and so nothing is estimated; and of one board, before it has its own."""


class Margin(Record, frozen=True, kw_only=True):
    """What is added to an estimate below and above: `low` is never above 0, `high` never below."""

    low: Number
    high: Number


def margin(off: Sequence[float], coverage: float = COVERAGE) -> Margin:
    """Of differences between what happened and what was said. `off` is not empty."""
    ordered, count = sorted(off), len(off)
    rank = min(count, math.ceil((count + 1) * (1 + coverage) / 2))
    return Margin(low=min(0.0, ordered[count - rank]), high=max(0.0, ordered[rank - 1]))


def by_board(off: Sequence[float], boards: Sequence[str]) -> dict[str, Margin]:
    """A margin for each model of GPU: its own, or where few jobs are known of it the widest that was ever needed."""
    every = margin(off)
    found = {}
    for board in sorted(set(boards)):
        own = [each for each, where in zip(off, boards, strict=True) if where == board]
        found[board] = (
            margin(own)
            if len(own) >= FEWEST
            else Margin(low=min(every.low, *own), high=max(every.high, *own))
        )
    return found


def covered(off: Sequence[float], boards: Sequence[str], folds: Sequence[int]) -> float:
    """Share of jobs within margins that were drawn from the jobs of other folds alone."""
    kept = 0
    for fold in sorted(set(folds)):
        others = [index for index, each in enumerate(folds) if each != fold]
        margins: Mapping[str, Margin] = by_board([off[i] for i in others], [boards[i] for i in others])
        every = margin([off[i] for i in others])
        for index, each in enumerate(folds):
            if each == fold:
                one = margins.get(boards[index], every)
                kept += one.low <= off[index] <= one.high
    return kept / len(off)
