"""Runs in batches of one controller, two batches at a time, each in a process of its own."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context

from easyrider import log
from easyrider_bench.cases import Key
from easyrider_bench.cells import Cells, Done
from easyrider_bench.controllers.contract import Entry
from easyrider_bench.hall import Hall
from easyrider_bench.score import figures

WORKERS = 2
BATCH = 14
"""Runs on one array axis: enough that the physics cost little a run, few enough that progress is seen."""
HALL_CPU, LOOK_CPU_S = 0.0006, 0.0015
"""Of a second of virtual time, and of one look of a controller: first guesses, for the time left alone."""
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Progress:
    """Runs done of all, and the time that the rest will take at the pace so far; None while that is unknown."""

    done: int
    all: int
    left_s: float | None


Say = Callable[[Progress], None]


def finish(entries: Sequence[Entry], keys: Sequence[Key], cells: Cells, say: Say) -> list[Done]:
    """Every run of every controller, from the cells where it is there. Raises what a controller raises."""
    found: list[Done] = []
    missing: list[tuple[Entry, list[Key]]] = []
    whole = 0
    for entry in entries:
        mine = [key for key in keys if entry.runs(key.oversub_pct, key.seed)]
        whole += len(mine)
        known = {key: cells.load(entry, key) for key in mine}
        found += [done for done in known.values() if done is not None]
        missing += [
            (entry, batch) for batch in _batches([key for key, done in known.items() if done is None])
        ]
    pace = _Pace(missing)
    say(Progress(len(found), whole, None))
    by_name = {entry.name: entry for entry in entries}
    for batch in _run(missing):
        for done in batch:
            cells.store(by_name[done.controller], done)
        found += batch
        say(Progress(len(found), whole, pace.left_s(batch)))
    return found


def run_batch(entry: Entry, keys: Sequence[Key]) -> list[Done]:
    """One hall, in this process."""
    from easyrider_bench.scenarios.names import case

    began_s = time.process_time()
    records = Hall([case(key) for key in keys], entry).run()
    took_s = (time.process_time() - began_s) / len(keys)
    return [
        Done(
            controller=entry.name,
            key=record.case.key,
            target_share=record.case.target_share,
            figures=figures(record),
            cpu_s=took_s,
        )
        for record in records
    ]


def _in_worker(name: str, keys: Sequence[Key]) -> list[Done]:
    from easyrider_bench.controllers.table import entry

    log.configure("easyrider", level="error", form="console")  # supplies change here all the time
    found = entry(name)
    assert found is not None  # it was found before the work was handed out
    return run_batch(found, keys)


def _run(missing: list[tuple[Entry, list[Key]]]) -> Iterator[list[Done]]:
    if not missing:
        return
    for name in ONE_THREAD:
        os.environ.setdefault(name, "1")
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as pool:
        waiting: set[Future[list[Done]]] = {pool.submit(_in_worker, e.name, keys) for e, keys in missing}
        try:
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        finally:
            for future in waiting:
                future.cancel()


def _batches(keys: list[Key]) -> list[list[Key]]:
    """Batches of equal length; where there are few runs, one for each worker."""
    found = []
    for seconds in sorted({key.seconds for key in keys}, reverse=True):
        alike = [key for key in keys if key.seconds == seconds]
        size = min(BATCH, -(-len(alike) // WORKERS))
        found += [alike[at : at + size] for at in range(0, len(alike), size)]
    return found


class _Pace:
    """Time left, from the wall time that a second of virtual time of each controller took so far."""

    def __init__(self, missing: list[tuple[Entry, list[Key]]]) -> None:
        self._left_s: dict[str, float] = {}
        for entry, keys in missing:
            self._left_s[entry.name] = self._left_s.get(entry.name, 0.0) + sum(key.seconds for key in keys)
        self._guess = {e.name: HALL_CPU + (LOOK_CPU_S / e.period_s if e.make else 0.0) for e, _ in missing}
        self._cost: dict[str, tuple[float, float]] = {}

    def left_s(self, batch: list[Done]) -> float | None:
        """Of all that is missing after this batch; controllers not yet seen count by how often they look."""
        name, virtual_s = batch[0].controller, sum(done.key.seconds for done in batch)
        cpu_s = sum(done.cpu_s for done in batch)
        before = self._cost.get(name, (0.0, 0.0))
        self._cost[name] = (before[0] + cpu_s, before[1] + virtual_s)
        self._left_s[name] -= virtual_s
        rates = {each: cpu / max(virtual, 1e-9) for each, (cpu, virtual) in self._cost.items()}
        return sum(left * rates.get(each, self._guess[each]) for each, left in self._left_s.items()) / WORKERS
