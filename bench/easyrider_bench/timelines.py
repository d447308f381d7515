"""All jobs of all runs at once: each plays its tape at the speed of its slowest board.

Boards of all runs lie in one flat array, run by run. The rules of pace are the twin's own.
"""

from collections.abc import Sequence

import numpy as np

from easyrider_bench.cases import STEP_S, Case, HallJob
from easyrider_bench.controllers.contract import Bools, Floats, Ints
from easyrider_twin import speed
from easyrider_twin.tapes import Tape


class Timelines:
    """Natural draw, pace and progress. `natural_w` and `occupied` have shape (runs x boards,)."""

    def __init__(self, cases: Sequence[Case], wait_w: float) -> None:
        self._gpus = cases[0].site.gpus
        self.jobs: list[HallJob] = [job for case in cases for job in case.jobs]
        self.run_of: Ints = np.repeat(np.arange(len(cases)), [len(case.jobs) for case in cases])
        self._of_run = [np.flatnonzero(self.run_of == run).tolist() for run in range(len(cases))]
        tapes = [job.tape for job in self.jobs]
        self._wait_w = wait_w
        self._idle_w = np.repeat([case.site.idle_w for case in cases], self._gpus)
        rows = np.array([len(tape.work) for tape in tapes], dtype=np.intp)
        self._boards = np.array([len(job.boards) for job in self.jobs], dtype=np.intp)
        self._draw = np.concatenate([tape.draw_w.ravel() for tape in tapes]).astype(np.float64)
        self._draw0 = _offsets(rows * self._boards)
        self._row0 = _offsets(rows)
        self._last = self._row0 + rows - 1
        self._ends = np.concatenate([tape.edges_s[1:] for tape in tapes])
        self._there = np.concatenate([tape.present for tape in tapes])
        self._memory = np.array([job.memory_bound for job in self.jobs], dtype=np.bool_)
        self._begin_s = np.array([job.begin_s for job in self.jobs])
        self._end_s = np.array([job.end_s for job in self.jobs])
        self._at_s = np.array([tape.begin_s for tape in tapes])
        self._row = self._row0 + np.array([_row(tape, tape.begin_s) for tape in tapes], dtype=np.intp)
        self._loop_s = np.array([np.nan if tape.loop_from_s is None else tape.loop_from_s for tape in tapes])
        self._length_s = np.array([tape.edges_s[-1] for tape in tapes])
        loop_rows = [
            0 if np.isnan(s) else _row(t, float(s)) for t, s in zip(tapes, self._loop_s, strict=True)
        ]
        self._loop_row = self._row0 + np.array(loop_rows, dtype=np.intp)
        self.played_s = np.zeros(len(tapes))
        self.speed = np.ones(len(tapes))
        self.active = np.zeros(len(tapes), dtype=np.bool_)  # in its window and alive
        self.killed = np.zeros(len(tapes), dtype=np.bool_)
        self.present = np.zeros(len(tapes), dtype=np.bool_)  # active, and its tape has it on its boards
        self._dark = np.zeros(len(self._idle_w), dtype=np.bool_)
        self._high_w: dict[int, Floats] = {}
        self.turns = 0
        self._next_s = float(self._begin_s.min(initial=np.inf))
        self._flat = [self.run_of[k] * self._gpus + job.boards for k, job in enumerate(self.jobs)]
        self._regroup()

    def show(self, t_s: float) -> None:
        """Who is there at `t_s`, and what every board would draw uncapped."""
        if t_s + 1e-9 >= self._next_s:
            self._schedule(t_s)
        present = self.active & self._there[self._row]
        if not np.array_equal(present, self.present):
            self.present = present
            self._regroup()
        self.natural_w = self._idle_w.copy()
        if len(self._members):
            of = self._job_of
            self.natural_w[self._members] = self._draw[
                self._draw0[of] + (self._row[of] - self._row0[of]) * self._boards[of] + self._column
            ]

    def pace(self, draw_w: Floats) -> Floats:
        """Power of all boards that may draw `draw_w` at full effort, where the faster ones of a job wait."""
        power_w = draw_w.copy()
        if not len(self._members):
            return power_w
        mine = draw_w[self._members]
        ratio = np.minimum(mine / self.natural_w[self._members], 1.0)
        board_speed = speed.compute_bound(ratio)
        if self._memory_boards.any():
            board_speed = np.where(self._memory_boards, speed.memory_bound(ratio), board_speed)
        slowest = np.minimum.reduceat(board_speed, self._starts)
        self.speed[self._present_jobs] = slowest
        share = np.repeat(slowest, self._sizes) / board_speed
        wait_w = np.minimum(self._wait_w, mine)
        power_w[self._members] = wait_w + share * (mine - wait_w)
        return power_w

    def advance(self) -> None:
        """One step of progress; jobs whose tape has them away wait in wall time."""
        moved_s = np.where(self.active, STEP_S * np.where(self.present, self.speed, 1.0), 0.0)
        self.played_s += moved_s
        self._at_s += moved_s
        while (over := self.active & (self._at_s + 1e-9 >= self._ends[self._row])).any():
            last = over & (self._row == self._last)
            self._row += over & ~last
            if last.any():
                self._wrap(last)

    def kill(self, dark: Bools) -> None:
        """End for good every job with a board that is dark, begun or not; `dark` has shape (runs x boards,)."""
        for k in np.flatnonzero(self.active & ~self.killed).tolist():
            if dark[self._flat[k]].any():
                self.active[k], self.killed[k] = False, True
        self._dark = dark

    def running(self, run: int) -> list[tuple[HallJob, Floats]]:
        """Jobs on their boards now, each with the highest natural draw of its boards."""
        found = []
        for k in (k for k in self._of_run[run] if self.present[k]):
            if k not in self._high_w:
                tape = self.jobs[k].tape
                self._high_w[k] = tape.draw_w[tape.present].max(axis=0).astype(np.float64)
            found.append((self.jobs[k], self._high_w[k]))
        return found

    def ahead(self, run: int, boards: int, ahead_s: Floats, t_s: float) -> tuple[Floats, Bools]:
        """(natural W, occupied), each (S, boards): the run's jobs after so much more work, starts and ends in it."""
        natural_w = np.tile(self._idle_w[run * boards : (run + 1) * boards], (len(ahead_s), 1))
        occupied = np.zeros(natural_w.shape, dtype=np.bool_)
        for k in self._of_run[run]:
            job, begin_s, end_s = self.jobs[k], float(self._begin_s[k]), float(self._end_s[k])
            if self.killed[k] or begin_s > t_s + ahead_s[-1] or end_s <= t_s:
                continue
            work_s = ahead_s if begin_s <= t_s else ahead_s - (begin_s - t_s)
            rows = _rows(job.tape, float(self._at_s[k]) + np.maximum(work_s, 0.0))
            inside = (work_s > -1e-9) & (t_s + ahead_s < end_s - 1e-9) & (rows >= 0) & job.tape.present[rows]
            if inside.all():
                natural_w[:, job.boards] = job.tape.draw_w[rows]
                occupied[:, job.boards] = True
                continue
            steps = np.flatnonzero(inside)
            natural_w[np.ix_(steps, job.boards)] = job.tape.draw_w[rows[steps]]
            occupied[np.ix_(steps, job.boards)] = True
        return natural_w, occupied

    def _schedule(self, t_s: float) -> None:
        inside = (self._begin_s <= t_s + 1e-9) & (t_s + 1e-9 < self._end_s) & ~self.killed
        for k in np.flatnonzero(inside & ~self.active).tolist():
            if self._dark[self._flat[k]].any():
                self.killed[k] = True
        self.active = inside & ~self.killed
        ahead = np.concatenate((self._begin_s, self._end_s))
        self._next_s = float(ahead[ahead > t_s + 1e-9].min(initial=np.inf))

    def _wrap(self, last: Bools) -> None:
        ended = last & np.isnan(self._loop_s)
        self.active &= ~ended
        again = last & ~ended
        back_s = self._length_s - np.where(again, self._loop_s, 0.0)
        self._at_s -= np.where(again, back_s, 0.0)
        self._row = np.where(again, self._loop_row, self._row)

    def _regroup(self) -> None:
        self.turns += 1
        here = np.flatnonzero(self.present)
        self._present_jobs = here
        self._sizes = self._boards[here]
        self._starts = np.concatenate(([0], np.cumsum(self._sizes)[:-1])).astype(np.intp)
        none = np.empty(0, dtype=np.intp)
        self._members = np.concatenate([self._flat[k] for k in here]) if len(here) else none
        self._column = np.concatenate([np.arange(n) for n in self._sizes]) if len(here) else none
        self._job_of = np.repeat(here, self._sizes)
        self._memory_boards = self._memory[self._job_of]
        self.occupied = np.zeros(len(self._idle_w), dtype=np.bool_)
        self.occupied[self._members] = True


def _offsets(sizes: Ints) -> Ints:
    return np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.intp)


def _row(tape: Tape, at_s: float) -> int:
    return int(_rows(tape, np.array([at_s]))[0])


def _rows(tape: Tape, at_s: Floats) -> Ints:
    """Row in force at each place; -1 once the tape is over."""
    end_s = float(tape.edges_s[-1])
    over = at_s >= end_s - 1e-9
    if tape.loop_from_s is not None:
        at_s = np.where(over, tape.loop_from_s + (at_s - end_s) % (end_s - tape.loop_from_s), at_s)
        over = np.zeros(len(at_s), dtype=np.bool_)
    rows = np.searchsorted(tape.edges_s, at_s + 1e-9, side="right") - 1
    return np.where(over, -1, np.minimum(rows, len(tape.work) - 1)).astype(np.intp)
