"""The hall: physics at 20 Hz of all runs of one controller on one leading array axis, controllers called per run."""

import time
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from easyrider_bench.boards import Boards
from easyrider_bench.cases import LOOK_STEPS, STEP_S, WARM_UP_S, Case
from easyrider_bench.controllers.contract import Clairvoyant, Controller, Entry, Floats
from easyrider_bench.limits import Limits, NoLimits
from easyrider_bench.meters import Meters
from easyrider_bench.notices import Notices
from easyrider_bench.record import JobRecord, Record, Tapes
from easyrider_bench.sensors import Sensors
from easyrider_bench.sums import Sums
from easyrider_bench.supply import Supply
from easyrider_bench.timelines import Timelines
from easyrider_bench.truths import truth
from easyrider_bench.watching import Watching
from easyrider_twin.world import GpuModel

Tell = Callable[[float], None]
"""Told the share that is done, now and then."""
TOLD_EVERY_S = 10.0
TIMED_EVERY = 7
"""Looks of which one is timed: to read the CPU clock may cost more than to plan. No multiple of a plan's rhythm."""


class Hall:
    """Runs of equal length and equal numbers of boards and nodes, under one controller."""

    def __init__(self, cases: Sequence[Case], entry: Entry, *, trips: bool = True) -> None:
        self.cases, self.entry = cases, entry
        seeds = [case.key.seed for case in cases]
        self.limits = Limits(cases)
        self.boards = Boards(self.limits.enforced_w, seeds, exact=entry.exact)
        self.timelines = Timelines(cases, GpuModel().wait_w)
        self.supply = Supply(cases, trips=trips)
        self.sensors = Sensors(cases)
        self.meters = Meters(cases, self.supply.domains, exact=entry.exact)
        self.notices = Notices(cases, self.timelines)
        self.watching = Watching(cases, self.sensors, self.meters, self.supply, self.notices)
        self.sums = [Sums(case, self.boards.overshoot[run]) for run, case in enumerate(cases)]
        make = entry.make
        self.controllers = [] if make is None else [make(case.site, case.key.seed) for case in cases]
        self._period = round(entry.period_s / STEP_S)
        self._node_of = cases[0].site.node_of
        self._nodes = len(cases[0].site.node_ids)
        self._limits_told = self.supply.true.hard_w
        self.plan_cpu_s = np.zeros(len(cases))
        self.looks, self.timed = (np.zeros(len(cases), dtype=np.int64) for _ in range(2))

    def run(self, tell: Tell = lambda _: None) -> list[Record]:
        """Live all runs to their end. Raises `NoLimits`."""
        until_s = self.cases[0].until_s
        steps, warm = round(until_s / STEP_S), round(WARM_UP_S / STEP_S)
        tapes = Tapes(self.cases, steps - warm, self.supply.domains)
        for step in range(steps):
            t_s = step * STEP_S
            self._step(step, t_s)
            if step >= warm:
                tapes.add(self.supply.wall_w, self.supply.true.hard_w, self.supply.true.target_w)
            if (step + 1) % LOOK_STEPS == 0:
                self._look(step + 1, t_s + STEP_S)
            if step % round(TOLD_EVERY_S / STEP_S) == 0:
                tell(step / steps)
        for each in self.sums:
            each.until(until_s)
        return [self._record(run, tapes) for run in range(len(self.cases))]

    def _step(self, step: int, t_s: float) -> None:
        self._strangers(t_s)
        while changed := self.limits.apply(t_s):
            for run, at_s in changed:
                self._stand(run, at_s)
        shape = self.limits.enforced_w.shape
        self.boards.follow(self.limits.enforced_w)
        self.timelines.show(t_s)
        able_w = self.boards.capped(self.timelines.natural_w.reshape(shape))
        lit = self.supply.lit[:, self._node_of]
        power_w = self.timelines.pace(able_w.ravel()).reshape(shape) * lit
        self.timelines.advance()
        opened = self.supply.load(self._by_node(power_w), t_s)
        if opened:
            self.timelines.kill((self.supply.lit[:, self._node_of] == 0.0).ravel())
        if opened or self.supply.true.hard_w is not self._limits_told:
            self._limits_told = self.supply.true.hard_w
            for run in range(len(self.cases)):
                self._stand(run, t_s)
        self.sensors.take(power_w)
        self.meters.take(step, t_s + STEP_S, self.supply.wall_w)
        self.power_w: Floats = power_w

    def _by_node(self, power_w: Floats) -> Floats:
        starts = np.flatnonzero(np.diff(self._node_of, prepend=-1))
        return np.add.reduceat(power_w, starts, axis=1)

    def _strangers(self, t_s: float) -> None:
        for run, case in enumerate(self.cases):
            for stranger in case.strangers:
                now_w = stranger.at(t_s)
                if self.supply.stranger_w[run, stranger.domain] != now_w:
                    self.supply.stranger_w[run, stranger.domain] = now_w
                    self._stand(run, t_s)

    def _stand(self, run: int, t_s: float) -> None:
        """Tell the referee what is in force in this run from now on."""
        true = self.supply.true
        own_w = self.supply.stranger_w[run]
        below_w = (true.contains[run] > 0) @ own_w
        self.sums[run].stand(t_s, self.limits.enforced_w[run], true.hard_w[run], true.carries[run], below_w)

    def _look(self, step: int, now_s: float) -> None:
        self.notices.see(now_s)
        self.watching.sample(now_s, self.boards.bound)
        if not self.controllers:
            return
        due = step % self._period == 0
        for run, controller in enumerate(self.controllers):
            if due or (self.entry.woken and self.notices.news[run]):
                self._decide(run, controller, now_s)

    def _decide(self, run: int, controller: Controller | Clairvoyant, now_s: float) -> None:
        case, enforced_w = self.cases[run], self.limits.enforced_w[run]
        seen = self.watching.look(run, now_s, enforced_w)
        timed = int(self.looks[run]) % TIMED_EVERY == 0
        self.looks[run] += 1
        if self.entry.truth:
            known = truth(run, case, now_s, self.timelines, self.boards, self.supply, enforced_w)
            began_s = time.thread_time() if timed else 0.0
            limit_w = cast(Clairvoyant, controller).decide(now_s, seen, known)
        else:
            began_s = time.thread_time() if timed else 0.0
            limit_w = cast(Controller, controller).decide(now_s, seen)
        if timed:
            self.plan_cpu_s[run] += time.thread_time() - began_s
            self.timed[run] += 1
        if limit_w is None:
            return
        if limit_w.shape != enforced_w.shape or not np.isfinite(limit_w).all():
            raise NoLimits(self.entry.name, case.key.scenario, now_s)
        self.limits.send(run, now_s, limit_w)

    def _record(self, run: int, tapes: Tapes) -> Record:
        case = self.cases[run]
        count = len(case.site.domains)
        wall_w, hard_w, target_w = tapes.of(run, count)
        return Record(
            case=case,
            wall_w=wall_w,
            hard_w=hard_w,
            target_w=target_w,
            jobs=self._jobs(run),
            trips=sum(opened.run == run for opened in self.supply.opened),
            heat_max=float(self.supply.breakers.heat_max[run, :count].max()),
            sum_rule_s=self.sums[run].broken_s,
            sum_rule_worst_w=self.sums[run].worst_w,
            changes=int(self.limits.changes[run].sum()),
            turns=int(self.limits.turns[run].sum()),
            timed_looks=int(self.timed[run]),
            plan_cpu_s=float(self.plan_cpu_s[run]),
        )

    def _jobs(self, run: int) -> tuple[JobRecord, ...]:
        case, found = self.cases[run], []
        for k in np.flatnonzero(self.timelines.run_of == run).tolist():
            job = self.timelines.jobs[k]
            window_s = max(min(job.end_s, case.until_s) - job.begin_s, 0.0)
            found.append(
                JobRecord(
                    id=job.id,
                    gpus=len(job.boards),
                    weight=case.site.priorities[job.priority_class].weight,
                    done_s=job.tape.work_s(float(self.timelines.played_s[k])),
                    due_s=job.tape.work_s(window_s),
                )
            )
        return tuple(found)
