"""Rhythm of all groups: periods, false waves, drift. A part of the rows every block, so that no tick waits for them."""

from itertools import pairwise

import numpy as np

from easyrider_forecaster.core import alias, drift, period, sight
from easyrider_forecaster.core.arrays import Array, Rowed, cohort
from easyrider_forecaster.core.groups import Membership
from easyrider_forecaster.core.history import History
from easyrider_forecaster.core.intake import Intake
from easyrider_forecaster.core.sight import Sight

_EVERY, _SELDOM = 10, 30
_MANY_ROWS = 3000
"""Beyond so many rows each is judged every 30 s: 333 of 10,000 a block, at about 0.1 ms each."""
_SLOTS = (300, 600, 1190)
_PRESENT = 0.7
"""Share of the slots looked at that must be there."""
_LOOK_SLOTS = 600
_WAVE_SLOTS = (130, 300, _LOOK_SLOTS)
_BELIEVED_RUNS = 3
_SAME = 0.08
_LEAST_SPREAD = 0.01
"""Of the device maximum; a wave of a twentieth of it spreads wider, whatever its shape."""


class Detector(Rowed):
    """What is known of every row's rhythm.

    `alias` is True where the wave may be a false one: nothing that builds on phase or shape may be believed
    there. It stays until three runs in a row see no such wave, or one of the three clearings holds.
    """

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.periods = period.Periods(rows)
        self.drift = drift.Drift(rows)
        self.alias = self.column("alias", (), np.bool_, False)
        self.true_counter = self.column("true_counter", (), np.bool_, False)
        self._quiet = self.column("_quiet", (), np.int64, _BELIEVED_RUNS)
        self._parts = (self.periods, self.drift)

    def grow(self, rows: int) -> None:
        """At least `rows` rows."""
        for part in self._parts:
            part.grow(rows)
        super().grow(rows)

    def clear(self, row: int) -> None:
        """Forget a group."""
        for part in self._parts:
            part.clear(row)
        super().clear(row)

    def step(self, history: History, members: Membership, intake: Intake, max_w: Array) -> None:
        """Judge the rows whose turn it is. `max_w` (rows,): device maximum, watts per GPU."""
        self.judge(history, sight.sight(intake, history.rows, members.count), max_w)

    def turn(self, history: History) -> Array:
        """Rows whose turn it is in this block."""
        return cohort(history.rows, history.block, _EVERY if history.rows <= _MANY_ROWS else _SELDOM)

    def judge(self, history: History, seen: Sight, max_w: Array, rows: Array | None = None) -> None:
        """The same, where the boards of each row are known by what they can show; or other rows than those."""
        rows = self.turn(history) if rows is None else rows
        beat = history.beat(rows, _SLOTS[-1])
        every = history.last(
            history.demand.value, rows, _SLOTS[-1]
        )  # a level that fell looks like a dip at first
        dips = history.last(history.dip, rows, _LOOK_SLOTS)
        instant = np.where(dips, np.float32(np.nan), history.last(history.instant, rows, _LOOK_SLOTS))
        look = np.where(dips, np.float32(np.nan), every[:, -_LOOK_SLOTS:])
        self._find(rows, beat, seen, float(history.block))
        every = history.last(
            history.demand.value, rows, _SLOTS[-1]
        )  # a level that fell looks like a dip at first
        changed, since_s = drift.moved(every, self.periods.period_s[rows], max_w[rows])
        self.drift.level(rows, changed, since_s, float(history.block))
        self._suspect(rows, look, instant, history, seen, max_w)

    def _find(self, rows: Array, beat: Array, seen: Sight, now_s: float) -> None:
        """Over the longest stretch that is there; rows without the shortest are not judged."""
        found = _longest(beat, _SLOTS)
        ripe = np.isfinite(beat).sum(axis=1) >= _PRESENT * _SLOTS[0]
        rows, found_s, agreed = rows[ripe], found.period_s[ripe], found.agreed[ripe]
        before_s = self.periods.period_s[rows]
        self.periods.take(rows, found_s, seen.slowest_s[rows], agreed, seen.announced_s[rows])
        with np.errstate(invalid="ignore"):
            moved = np.abs(self.periods.period_s[rows] - before_s) > _SAME * before_s
        self.drift.period(rows[moved], now_s)

    def _suspect(
        self, rows: Array, look: Array, instant: Array, history: History, seen: Sight, max_w: Array
    ) -> None:
        """A smooth wave with a period in the instant field, unless counter, marks or four boards clear it.

        What clears a row is looked at first: the shape of a wave is the dearest of all to judge.
        """
        swings = alias.spread_w(instant) >= _LEAST_SPREAD * max_w[rows]
        new = np.flatnonzero(swings & ~self.true_counter[rows])
        self.true_counter[rows[new]] = alias.counter_is_true(look[new], instant[new], max_w[rows[new]])
        cleared = self.true_counter[rows] & alias.counter_shows(look, instant)
        many = np.flatnonzero(swings & ~cleared & (seen.boards[rows] >= 4))
        unlike = history.last(history.unlike, rows[many], _LOOK_SLOTS)
        cleared[many] = alias.boards_agree(look[many], unlike, seen.boards[rows[many]])
        smooth, wave_s = np.zeros(len(rows), np.bool_), np.full(len(rows), np.nan)
        open_ = np.flatnonzero(swings & ~cleared & seen.partial[rows])
        smooth[open_] = alias.suspect(instant[open_], max_w[rows[open_]])
        some = np.flatnonzero(smooth)
        wave_s[some] = _longest(instant[some], _WAVE_SLOTS).period_s
        believed_s, announced_s = self.periods.period_s[rows], seen.announced_s[rows]
        smooth &= np.isfinite(wave_s) | np.isfinite(believed_s)
        with np.errstate(invalid="ignore"):
            shown_s = np.where(np.isfinite(wave_s), wave_s, believed_s)
            cleared |= smooth & (np.abs(shown_s - announced_s) <= _SAME * announced_s)
        self._quiet[rows] = np.where(cleared, _BELIEVED_RUNS, np.where(smooth, 0, self._quiet[rows] + 1))
        self.alias[rows] = self._quiet[rows] < _BELIEVED_RUNS


def _longest(values: Array, choices: tuple[int, ...]) -> period.Found:
    """Periods over the longest of some stretches of which enough is there; none where that is true of none."""
    number = np.isfinite(values).sum(axis=1)
    found_s, agreed = np.full(len(values), np.nan), np.zeros(len(values), np.bool_)
    for slots, longer in pairwise((*choices, 10**9)):
        some = np.flatnonzero((number >= _PRESENT * slots) & (number < _PRESENT * longer))
        if len(some):
            found = period.detect(values[some, -slots:])
            found_s[some], agreed[some] = found.period_s, found.agreed
    return period.Found(found_s, agreed)
