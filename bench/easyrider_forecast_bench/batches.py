"""Runs in batches of one model, two at a time, each in a process of its own so that its memory can be told."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path

from easyrider import log
from easyrider_bench.batches import ONE_THREAD, Progress
from easyrider_forecast_bench.cells import LOADS, Cells, Done, digest
from easyrider_forecast_bench.contract import Answer
from easyrider_forecast_bench.loads import shelf
from easyrider_forecast_bench.loads.families import Key
from easyrider_forecast_bench.loads.recorded import FAMILY
from easyrider_forecast_bench.memory import forget_peak, peak_mb
from easyrider_forecast_bench.ours import ABLATIONS, EasyRider
from easyrider_forecast_bench.rivals.table import COST_MS, RIVALS
from easyrider_forecast_bench.score import figures, returned_s
from easyrider_forecast_bench.series import Array, Series

WORKERS = 2
DEAR, CHEAP = 14, 200
"""Series in a batch of a model that fits at every origin, and of one that does not."""
DEAR_MS = 2.0
START_S, LANE_S = 4.0, 1.5e-4
"""CPU time of a fresh process, and of a second of one series in the bank: first guesses, for the time left alone."""
Say = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Batch:
    """One model on some series; the product's own take series of one length and kind."""

    model: str
    keys: tuple[Key, ...]

    @property
    def guess_s(self) -> float:
        """CPU time it may take."""
        if self.model in ABLATIONS:
            lanes = sum(key.seconds * (20 if key.family == "domain" else 1) for key in self.keys)
            return START_S + LANE_S * lanes + 0.004 * self.keys[0].seconds
        return START_S + COST_MS.get(self.model, 0.5) / 1e3 * sum(key.origins for key in self.keys)


def finish(asked: Sequence[tuple[str, Sequence[Key]]], cells: Cells, store: Path, say: Say) -> list[Done]:
    """Every run that is asked for, from the cells where it is there. `store` is where series are kept."""
    found: list[Done] = []
    batches: list[Batch] = []
    for model, keys in asked:
        known = {key: cells.load(model, key) for key in keys}
        found += [done for done in known.values() if done is not None]
        batches += _batches(model, [key for key, done in known.items() if done is None])
    store.mkdir(parents=True, exist_ok=True)
    batches.sort(key=lambda batch: -batch.guess_s)  # a long one begun last would keep one worker idle
    whole = len(found) + sum(len(batch.keys) for batch in batches)
    left_s, done_s, took_s = sum(batch.guess_s for batch in batches), 0.0, 0.0
    say(Progress(len(found), whole, None))
    for batch, done in _run(batches, store):
        for each in done:
            cells.store(each)
        found += done
        left_s -= batch.guess_s
        done_s += batch.guess_s
        took_s += sum(each.cpu_s for each in done)
        say(Progress(len(found), whole, left_s * took_s / done_s / WORKERS))
    return found


def run_batch(batch: Batch, store: Path) -> list[Done]:
    """The batch in this process."""
    began_s = time.process_time()
    ours = batch.model in ABLATIONS
    loaded = [shelf.series(key, store / f"{digest(key, '', LOADS)}.npz", jobs=ours) for key in batch.keys]
    origins = [shelf.origins_s(key, one) for key, one in zip(batch.keys, loaded, strict=True)]
    forget_peak()
    bare_mb = peak_mb()
    answers = _answers(batch.model, loaded, origins)
    memory_mb = max(peak_mb() - bare_mb, 0.0)
    scored = [
        (figures(one, at, answer), _notes(one, answer))
        for one, at, answer in zip(loaded, origins, answers, strict=True)
    ]
    cpu_s = (time.process_time() - began_s) / len(loaded)
    return [
        Done(
            model=batch.model,
            key=key,
            rating_w=one.rating_w,
            figures=found,
            us_per_tick=answer.us_per_tick,
            memory_mb=memory_mb,
            cpu_s=cpu_s,
            failed=answer.failed,
            fault=answer.fault,
            restless=answer.restless,
            fits=answer.fits,
            notes=notes,
        )
        for key, one, answer, (found, notes) in zip(batch.keys, loaded, answers, scored, strict=True)
    ]


def _answers(model: str, loaded: list[Series], origins: list[Array]) -> list[Answer]:
    if model in ABLATIONS:
        answers: list[Answer | None] = [None] * len(loaded)
        for alike in _alike(loaded):
            told = EasyRider(ABLATIONS[model]).forecast_all(
                [loaded[at] for at in alike], [origins[at] for at in alike]
            )
            for at, answer in zip(alike, told, strict=True):
                answers[at] = answer
        return [answer for answer in answers if answer is not None]
    rival = RIVALS[model]()
    return [rival.forecast(one, at) for one, at in zip(loaded, origins, strict=True)]


def _notes(one: Series, answer: Answer) -> dict[str, float]:
    notes = dict(answer.notes)
    if one.released_s and answer.peaks_w is not None:
        notes["returned_s"] = returned_s(one, answer.peaks_w)
    return notes


def _batches(model: str, keys: list[Key]) -> list[Batch]:
    if model in ABLATIONS:
        kind = sorted(keys, key=_kind)
        return [Batch(model, tuple(alike)) for _, alike in groupby(kind, key=_kind)]
    size = DEAR if COST_MS.get(model, 0.0) > DEAR_MS else CHEAP
    size = max(1, min(size, -(-len(keys) // WORKERS))) if size == DEAR else size
    return [Batch(model, tuple(keys[at : at + size])) for at in range(0, len(keys), size)]


def _kind(key: Key) -> tuple[str, int]:
    """A batch of our own: recordings, which are short, or series of one length."""
    apart = key.family in ("domain", "capped", FAMILY)
    return (key.family if apart else "", 0 if key.family == FAMILY else key.seconds)


def _alike(loaded: list[Series]) -> list[list[int]]:
    """Which series go through one bank side by side: those of one length."""
    lengths = sorted({one.seconds for one in loaded})
    return [[at for at, one in enumerate(loaded) if one.seconds == length] for length in lengths]


def _in_worker(batch: Batch, store: Path) -> list[Done]:
    log.configure("easyrider", level="error", form="console")
    return run_batch(batch, store)


def _run(batches: list[Batch], store: Path) -> Iterator[tuple[Batch, list[Done]]]:
    if not batches:
        return
    for name in ONE_THREAD:
        os.environ.setdefault(name, "1")
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        batch_of: dict[Future[list[Done]], Batch] = {
            pool.submit(_in_worker, batch, store): batch for batch in batches
        }
        waiting = set(batch_of)
        try:
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    yield batch_of[future], future.result()
        finally:
            for future in waiting:
                future.cancel()
