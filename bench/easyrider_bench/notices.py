"""What a scheduler and the facility tell, late by the site's delay: jobs that come and go, supplies, silent nodes."""

import heapq
from collections.abc import Sequence

from easyrider_bench.cases import Case
from easyrider_bench.controllers.contract import Event, JobRow
from easyrider_bench.timelines import Timelines

Notice = tuple[float, int, int, Event, JobRow | None]
"""(due, number, run, event, row of a job that started)"""


class Notices:
    """`jobs[run]` as announced; events wait in `news[run]` until the run's controller looks."""

    def __init__(self, cases: Sequence[Case], timelines: Timelines) -> None:
        self._cases, self._timelines = cases, timelines
        self._present = timelines.present.copy()
        self._runs = [0] * len(timelines.jobs)
        self._turns = timelines.turns
        self._coming: list[Notice] = []
        self._number = 0
        self.jobs: list[dict[str, JobRow]] = [{} for _ in cases]
        self.news: list[list[Event]] = [[] for _ in cases]
        for run, case in enumerate(cases):
            self._plan(run, case)

    def see(self, t_s: float) -> None:
        """Take in who came and went by `t_s`, and tell what has become due."""
        if self._timelines.turns != self._turns:
            self._turns = self._timelines.turns
            for k in (self._timelines.present != self._present).nonzero()[0].tolist():
                self._turn(k, t_s)
            self._present = self._timelines.present.copy()
        while self._coming and self._coming[0][0] <= t_s + 1e-9:
            _, _, run, event, row = heapq.heappop(self._coming)
            self.news[run].append(event)
            if row is not None:
                self.jobs[run][row.id] = row
            elif event.kind == "job_ended":
                self.jobs[run].pop(event.subject, None)

    def _turn(self, k: int, t_s: float) -> None:
        run, job = int(self._timelines.run_of[k]), self._timelines.jobs[k]
        if self._timelines.present[k]:
            self._runs[k] += 1
            name = _name(job.id, self._runs[k])
            row = JobRow(
                id=name,
                type_key=job.type_key,
                priority_class=job.priority_class,
                boards=job.boards,
                started_s=t_s,
            )
            self._say(run, t_s, Event(kind="job_started", at_s=t_s, subject=name), row)
        else:
            self._say(run, t_s, Event(kind="job_ended", at_s=t_s, subject=_name(job.id, self._runs[k])))

    def _plan(self, run: int, case: Case) -> None:
        for loss in case.losses:
            for at_s in (loss.begin_s, loss.end_s):
                name = case.site.domains[loss.domain].id
                self._say(run, at_s, Event(kind="supply_changed", at_s=at_s, subject=name))
        for dead in case.dead:
            name = case.site.node_ids[dead.node]
            self._say(run, dead.begin_s, Event(kind="node_silent", at_s=dead.begin_s, subject=name))
            self._say(run, dead.end_s, Event(kind="node_back", at_s=dead.end_s, subject=name))

    def _say(self, run: int, at_s: float, event: Event, row: JobRow | None = None) -> None:
        self._number += 1
        due_s = at_s + self._cases[run].site.event_delay_s
        heapq.heappush(self._coming, (due_s, self._number, run, event, row))


def _name(job: str, runs: int) -> str:
    return job if runs <= 1 else f"{job}-run{runs}"
