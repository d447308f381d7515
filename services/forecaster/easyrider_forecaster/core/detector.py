"""Periods and false waves of all groups, a tenth of the rows every block so that no tick waits for them."""

import numpy as np

from easyrider_forecaster.core import alias, period
from easyrider_forecaster.core.arrays import SLOT_S, Array, Rowed, cohort
from easyrider_forecaster.core.groups import Membership
from easyrider_forecaster.core.history import History
from easyrider_forecaster.core.intake import Intake

_EVERY = 10
_LONG_SLOTS, _SHORT_SLOTS = 1190, 300


class Detector(Rowed):
    """What is known of every row's rhythm: `periods`, and `alias` where its wave may be a false one."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.periods = period.Periods(rows)
        self.alias = self.column("alias", (), np.bool_, False)

    def grow(self, rows: int) -> None:
        """At least `rows` rows."""
        self.periods.grow(rows)
        super().grow(rows)

    def clear(self, row: int) -> None:
        """Forget a group."""
        self.periods.clear(row)
        super().clear(row)

    def step(self, history: History, members: Membership, intake: Intake, max_w: Array) -> None:
        """Judge the rows whose turn it is: each every ten seconds. `max_w`: device maximum of each row."""
        rows = cohort(history.rows, history.block, _EVERY)
        filled = history.filled[rows]
        found_s = np.full(len(rows), np.nan)
        ripe = filled >= 0.7 * _LONG_SLOTS
        early = ~ripe & (filled >= 0.7 * _SHORT_SLOTS)
        for some, slots in ((ripe, _LONG_SLOTS), (early, _SHORT_SLOTS)):
            if some.any():
                found_s[some] = period.find(
                    history.last(history.raw.value, rows[some], slots).astype(np.float64)
                )
        judged = rows[ripe | early]
        if not len(judged):
            return
        self.periods.take(judged, found_s[ripe | early], _refresh_s(history.rows, intake)[judged])
        instant = history.last(history.instant, judged, 600)
        agree = alias.boards_agree(
            history.last(history.raw.value, judged, 600).astype(np.float64),
            history.last(history.unlike, judged, 600).astype(np.float64),
            members.count[judged],
        )
        smooth = alias.suspect(instant, max_w[judged])
        known = np.isfinite(self.periods.period_s[judged])
        self.alias[judged] = smooth & known & ~agree & ~self._marked(intake)[judged]

    def _marked(self, intake: Intake) -> Array:
        """True where phase marks announce the very period that was found."""
        now_s = intake.boards.closed_before * SLOT_S
        marked = np.zeros(self.rows, np.bool_)
        for group in intake.groups.known.values():
            announced_s = intake.marks.period_s(group.id, now_s) if group.kind == "job" else None
            if announced_s is not None:
                found_s = self.periods.period_s[group.row]
                marked[group.row] = bool(abs(found_s - announced_s) <= 0.08 * announced_s)
        return marked


def _refresh_s(rows: int, intake: Intake) -> Array:
    """Slowest sensor refresh or sampling step of each group's boards."""
    boards = intake.boards
    slowest = np.zeros(rows)
    each = np.array([intake.refresh_s.get(node, SLOT_S) for node in boards.node_of])
    np.maximum.at(slowest, boards.group, each)
    return slowest
