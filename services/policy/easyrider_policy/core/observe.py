"""What the planner sees of the jobs by itself: peaks, busy shares, stalls, duty and overshoot.

A minute of 100 ms means per job, from energy differences, averaged over the job's boards. It runs with no
forecaster; a forecast refines it. Nothing here survives a start event: another job, another history.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core import curves
from easyrider_policy.core.busy import Busy
from easyrider_policy.core.carrying import carry_boards, carry_jobs
from easyrider_policy.core.duty import Duty
from easyrider_policy.core.flags import Flags
from easyrider_policy.core.layout import Layout
from easyrider_policy.core.learned_curves import SETTLED_S, LearnedCurves
from easyrider_policy.core.limiters import Limiters
from easyrider_policy.core.overshoot import Overshoot
from easyrider_policy.core.paces import Paces
from easyrider_policy.core.peaks import Peaks
from easyrider_policy.core.rhythms import Rhythms
from easyrider_policy.core.stalls import Belief, Stalls

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

STEP_S: Final = 0.1
STILL_S: Final = 1.5
UNREAD_S: Final = 3.0
"""A board not read for longer is not where it was."""
LONG_AGO_S: Final = -1e8
"""A job that started before ran before us."""
_SECOND: Final = 10


class Observation:
    """Everything seen of one layout's jobs and boards. Feed it with `add`; the planner only reads."""

    def __init__(self, layout: Layout) -> None:
        jobs, boards = layout.job_count, len(layout.fleet.gpus)
        self.layout = layout
        self.peaks = Peaks(layout.max_w.copy(), layout.known_peak_w)
        self.busy = Busy(jobs)
        self.learned = LearnedCurves(layout.max_w)
        self.paces = Paces(jobs)
        self.flags = Flags(jobs)
        self.stalls = Stalls(layout.started_s > LONG_AGO_S)
        self.duty = Duty(jobs)
        self.rhythms = Rhythms(jobs)
        self.overshoot = Overshoot(boards)
        self.limiters = Limiters(boards)
        self.gpu_w = np.full(boards, np.nan)  # last good 100 ms mean
        self.unread_s = np.full(boards, np.inf)
        self.draw_w = np.full(jobs, np.nan)  # mean per board over the newest samples
        self.highest_w = np.full(jobs, np.nan)  # newest draw of the highest board
        self.limit_w = np.full(boards, np.nan)
        self.still_s = np.zeros(boards)  # how long each limit has stood still
        self.lowest_w = np.full(jobs, np.nan)  # limit of each job, the lowest since it stood still
        self.samples = 0
        self.ahead_w = np.full(jobs, np.nan)  # higher peaks that a forecast announces
        self.ahead_until_s = np.full(jobs, -np.inf)
        self.job_rows = {job.id: row for row, job in enumerate(layout.jobs)}
        self.job_boards = {job.id: len(job.gpus) for job in layout.jobs}
        self.second = np.zeros((_SECOND, jobs))
        self._classes = (self.busy.classes, -1, self.busy.classes)

    def add(
        self,
        now_s: float,
        mean_w: Floats,
        limit_w: Floats,
        capped: Bools | None = None,
        hot: Bools | None = None,
    ) -> Ints:
        """Take 100 ms means (k, G) of boards, NaN where missing, k at most 10, ending at `now_s`; the jobs that woke.

        `limit_w` (G,) is enforced now (NaN unknown); `capped`, `hot` (G,): boards that a power cap, heat slows.
        """
        layout = self.layout
        span_s = len(mean_w) * STEP_S
        self._note_boards(mean_w, limit_w, span_s)
        self.limiters.add(np.fmax.reduce(mean_w), limit_w, capped, hot, span_s)
        if not layout.job_count:
            return np.zeros(0, dtype=np.int64)
        self.ahead_w[self.ahead_until_s < now_s] = np.nan
        sample_w = self._per_job(mean_w)
        cap_w = self._job_limit(limit_w)
        self.flags.add(None if capped is None else self._any_board(capped), cap_w, span_s)
        near = self.flags.near_w(cap_w)
        pinned = sample_w > near
        settled_s = np.minimum.reduceat(self.still_s[layout.seat], layout.job_start)
        # Just after a limit moved the draw still answers to the lower of the two.
        unsettled = settled_s < STILL_S
        self.lowest_w = np.where(unsettled, np.fmin(self.lowest_w, cap_w), cap_w)
        hidden = pinned | (unsettled & (sample_w > self.flags.near_w(self.lowest_w)))
        hidden |= self._any_board(self.limiters.held)  # such draw is no demand
        self.busy.add(sample_w, hidden, self.peaks.peak_w)
        self.rhythms.add(sample_w, hidden)
        self.peaks.add(sample_w, hidden, pinned, cap_w)
        self.highest_w = self._highest(mean_w[-1])
        belief = Belief(self.peaks.peak_w, cap_w)
        slowed = self._any_board(self.limiters.slowed) & ~self.stalls.stalled
        highest_w = np.where(slowed, cap_w, self.highest_w)  # it does not wait
        woken = self.stalls.add(now_s, sample_w, highest_w, near, belief, STEP_S)
        self._learn_overshoot(mean_w, hidden, span_s)
        self.draw_w = _mean(sample_w)
        self._seconds(sample_w, cap_w)
        for job in woken:
            self.duty.reset(int(job))
        return woken

    def notice(self, now_s: float, newest_w: Floats, limit_w: Floats) -> Ints:
        """The jobs that the newest means of boards (G,) show to be awake, NaN where nothing came; no sample is taken.

        A whole column is gathered only ten times a second: too rarely for a job whose watts are lent out.
        """
        came = self.layout.job_of[np.isfinite(newest_w)]
        heard = np.zeros(self.layout.job_count, dtype=np.bool_)
        heard[came[came >= 0]] = True
        jobs = np.flatnonzero(heard & self.stalls.stalled)
        if not len(jobs):
            return jobs
        highest_w, near_w = np.full(len(heard), np.nan), np.full(len(heard), np.nan)
        seats, begin = self.layout.seats_of(jobs)
        highest_w[jobs] = np.fmax.reduceat(newest_w[seats], begin)
        known_w = np.where(np.isnan(limit_w[seats]), self.layout.fleet.max_w[seats], limit_w[seats])
        near_w[jobs] = self.flags.near_w(np.minimum.reduceat(known_w, begin), jobs)
        woken = self.stalls.pinned(now_s, highest_w, near_w)
        for job in woken:
            self.duty.reset(int(job))
        return woken

    @property
    def peak_w(self) -> Floats:
        """Watts per board (J,) that each job may reach: seen, told, or announced."""
        return np.asarray(np.fmax(self.peaks.peak_w, self.ahead_w), dtype=np.float64)

    @property
    def curve_classes(self) -> Ints:
        """Classes (J,) of the jobs' power-speed curves; the same array as long as nothing new is known."""
        busy, version, classes = self._classes
        if busy is not self.busy.classes or version != self.learned.version:
            classes = self.busy.classes + curves.BUSY_CLASSES * self.learned.shape
            self._classes = (self.busy.classes, self.learned.version, classes)
        return classes

    def iterated(self, jobs: Ints, period_s: Floats) -> None:
        """Iterations of these jobs take so long now: what their limits cost them, where those have stood still."""
        layout = self.layout
        cap_w = self._job_limit(self.limit_w)
        still_s = np.minimum.reduceat(self.still_s[layout.seat], layout.job_start)
        tells = (still_s >= SETTLED_S) & self.peaks.known & ~self.stalls.stalled
        jobs, period_s = jobs[tells[jobs]], period_s[tells[jobs]]
        ratio = np.minimum(1.0, cap_w[jobs] / self.peaks.peak_w[jobs])
        self.paces.hear(jobs, period_s, ratio)
        self.learned.hear(jobs, period_s, ratio, self.busy.classes[jobs])

    def expect(self, job: int, peak_w: float, until_s: float) -> None:
        """A forecast announces a higher peak; it counts until then."""
        self.ahead_w[job] = min(peak_w, float(self.layout.max_w[job]))
        self.ahead_until_s[job] = until_s

    def believed_w(self, mean_w: Floats) -> Floats:
        """Means (k, G) for sums: a missing cell is the last good value for 3 s, then the limit, then the maximum."""
        gone = np.isnan(mean_w)
        if not gone.any():
            return mean_w
        limit_w = np.where(np.isnan(self.limit_w), self.layout.fleet.max_w, self.limit_w)
        last_w = np.where((self.unread_s <= UNREAD_S) & np.isfinite(self.gpu_w), self.gpu_w, limit_w)
        return np.where(gone, last_w, mean_w)

    def carried(self, layout: Layout) -> "Observation":
        """What stays true on a new layout: boards' overshoot, and jobs of the same id, boards and start."""
        new = Observation(layout)
        carry_boards(self, new)
        before = {
            (job.id, _uuids(self.layout, job.gpus), job.started_s): i
            for i, job in enumerate(self.layout.jobs)
        }
        same = [
            (before[key], i)
            for i, job in enumerate(layout.jobs)
            if (key := (job.id, _uuids(layout, job.gpus), job.started_s)) in before
        ]
        if same:
            old_columns, new_columns = (
                np.array(column, dtype=np.int64) for column in zip(*same, strict=True)
            )
            carry_jobs(self, new, old_columns, new_columns)
        new.samples = self.samples
        return new

    def _note_boards(self, mean_w: Floats, limit_w: Floats, span_s: float) -> None:
        last = mean_w[-1]
        for row in mean_w[-2::-1]:
            if not np.isnan(last).any():
                break
            last = np.where(np.isnan(last), row, last)
        gone = np.isnan(last)
        self.gpu_w = np.where(gone, self.gpu_w, last)
        self.unread_s = np.where(gone, self.unread_s + span_s, 0.0)
        moved = ~(np.abs(limit_w - self.limit_w) <= 0.5)
        self.still_s = np.where(moved, 0.0, self.still_s + span_s)
        self.limit_w = limit_w.copy()

    def _per_job(self, mean_w: Floats) -> Floats:
        """Means over the boards of each job (k, J); NaN where less than half of them were read."""
        layout = self.layout
        seats = mean_w[:, layout.seat]
        gone = np.isnan(seats)
        if not gone.any():
            sums = np.add.reduceat(seats, layout.job_start, axis=1)
            return np.asarray(sums / layout.gpu_count, dtype=np.float64)
        sums = np.add.reduceat(np.where(gone, 0.0, seats), layout.job_start, axis=1)
        read = layout.gpu_count - np.add.reduceat(gone.astype(np.float64), layout.job_start, axis=1)
        return np.where(read >= layout.gpu_count / 2, sums / np.maximum(read, 1.0), np.nan)

    def _any_board(self, boards: Bools) -> Bools:
        """Jobs (J,) with such a board."""
        if not boards.any():
            return np.zeros(self.layout.job_count, dtype=np.bool_)
        return np.asarray(np.logical_or.reduceat(boards[self.layout.seat], self.layout.job_start), np.bool_)

    def _highest(self, board_w: Floats) -> Floats:
        """Draw of the highest board of each job (J,), NaN where none was read."""
        return np.asarray(
            np.fmax.reduceat(board_w[self.layout.seat], self.layout.job_start), dtype=np.float64
        )

    def _job_limit(self, limit_w: Floats) -> Floats:
        """The lowest limit among the boards of each job (J,): it sets the pace of all."""
        layout = self.layout
        seats = limit_w[layout.seat]
        known = np.where(np.isnan(seats), layout.fleet.max_w[layout.seat], seats)
        return np.asarray(np.minimum.reduceat(known, layout.job_start), dtype=np.float64)

    def _learn_overshoot(self, mean_w: Floats, hidden: Bools, span_s: float) -> None:
        held: Bools = np.asarray(hidden.all(axis=0), dtype=np.bool_)
        if not held.any():
            return
        job_of = self.layout.job_of
        bound = (job_of >= 0) & held[job_of] & (self.still_s >= STILL_S)
        # A limit at the top of the range does not bind; draw there says nothing about overshoot.
        bound &= self.limit_w < 0.99 * self.layout.fleet.max_w
        if bound.any():
            self.overshoot.add(mean_w.sum(axis=0) / len(mean_w), self.limit_w, bound, span_s)

    def _seconds(self, sample_w: Floats, cap_w: Floats) -> None:
        if len(sample_w) == _SECOND and self.samples % _SECOND == 0:
            self.second[:] = sample_w
            self.samples += _SECOND
            self._close(cap_w)
            return
        for row in sample_w:
            self.second[self.samples % _SECOND] = row
            self.samples += 1
            if self.samples % _SECOND == 0:
                self._close(cap_w)

    def _close(self, cap_w: Floats) -> None:
        """A whole second is there."""
        # What boards draw above a limit that binds counts as overshoot already, and not again as duty.
        counted = np.add.reduceat(self.overshoot.counted[self.layout.seat], self.layout.job_start)
        level_w = np.minimum(cap_w * counted / self.layout.gpu_count, self.peaks.peak_w)
        self.duty.add_second(self.second.sum(axis=0) / _SECOND, level_w)
        if self.samples % (5 * _SECOND) == 0:
            self.busy.settle(self.peaks.peak_w, cap_w)


def _mean(sample_w: Floats) -> Floats:
    whole = sample_w.sum(axis=0) / len(sample_w)
    if not np.isnan(whole).any():
        return np.asarray(whole, dtype=np.float64)
    good = np.isfinite(sample_w)
    sums = np.where(good, sample_w, 0.0).sum(axis=0)
    return np.where(good.any(axis=0), sums / np.maximum(good.sum(axis=0), 1), np.nan)


def _uuids(layout: Layout, rows: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(sorted(layout.fleet.gpus[row] for row in rows))
