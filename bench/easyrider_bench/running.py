"""The whole bench: which runs are asked for, are they allowed to tell anything, and what is written."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from easyrider.errors import EasyRiderError
from easyrider_bench.batches import Say, finish
from easyrider_bench.cases import Key
from easyrider_bench.cells import Cells, Done
from easyrider_bench.controllers.contract import Entry
from easyrider_bench.controllers.table import ENTRIES, entry
from easyrider_bench.scenarios.names import LEVELS, QUICK, SCENARIOS, keys
from easyrider_bench.telling.refusals import DANGEROUS, refusals
from easyrider_bench.telling.rows import Row, pooled
from easyrider_bench.telling.table import table
from easyrider_bench.telling.verdicts import verdicts
from easyrider_twin import recordings
from easyrider_twin.recorded_rows import BadRecording

SEEDS, QUICK_SEEDS = 3, 1
FULL, OF_QUICK, OF_TRACES, OF_PART = (
    "controllers",
    "controllers-quick",
    "controllers-traces",
    "controllers-part",
)
REPLAYED = "trace"


class UnknownName(EasyRiderError):
    """A controller or scenario was asked for that is not there; nothing was run."""

    def __init__(self, what: str, name: str, known: Sequence[str]) -> None:
        self.what, self.name, self.known = what, name, tuple(known)
        super().__init__(f"there is no {what} {name}: choose of {', '.join(known)}")


class NothingToReplay(EasyRiderError):
    """A folder without a recording, or with a file that is none; nothing was run."""

    def __init__(self, folder: Path, why: str) -> None:
        self.folder, self.why = folder, why
        super().__init__(
            f"--traces {folder}: {why}; name a folder of *.csv.gz with columns t_s, gpu, power_w"
        )


class Refused(EasyRiderError):
    """The runs do not allow a report; they are kept, `told` says where."""

    def __init__(self, reasons: Sequence[str], told: Path) -> None:
        self.reasons, self.told = tuple(reasons), told
        super().__init__(f"no report: {'; '.join(reasons)}. Finished runs are kept; the rows are in {told}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What to run. Empty names mean all; `traces` replays the recordings of a folder, and nothing else."""

    out: Path
    quick: bool = False
    traces: Path | None = None
    seeds: int | None = None
    controllers: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    levels: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """Of the file of rows: only the whole bench writes the whole file."""
        if self.controllers or self.scenarios or self.levels:
            return OF_PART
        if self.traces is not None:
            return OF_TRACES
        return OF_QUICK if self.quick else FULL


def run(asked: Asked, say: Say, tell: Callable[[str], None]) -> list[Row]:
    """Rows of the report, written to `<out>/<name>.json` with pictures beside it, and told as text.

    Raises `UnknownName`, `NothingToReplay`, `Refused`, `NoLimits`.
    """
    entries = _entries(asked.controllers)
    if asked.traces is not None:
        _look_through(asked.traces)
    done = finish(entries, _keys(asked), Cells(asked.out / "cells"), say)
    rows = pooled(done, [entry.name for entry in entries])
    asked.out.mkdir(parents=True, exist_ok=True)
    stem = asked.out / asked.name
    reasons = refusals(rows, dangerous=_dangerous(asked))
    if reasons and asked.name != OF_PART:  # means over a part of the cells say nothing of the bench
        refused = stem.with_name(f"{stem.name}-refused.json")
        _write(refused, rows)
        raise Refused(reasons, refused)
    _write(stem.with_suffix(".json"), rows)
    _write_jobs(stem.with_name(f"{stem.name}-jobs.json"), done)
    from easyrider_bench.telling.plots import draw  # pictures cost a second of imports

    pictures = draw(rows, stem)
    tell(table(rows, verdicts(rows)))
    tell(f"rows: {stem.with_suffix('.json')}, pictures: {', '.join(map(str, pictures))}\n")
    return rows


def _look_through(folder: Path) -> None:
    """Read every recording once, so that a bad one is told before the first run."""
    try:
        names = recordings.names(folder)
        for name in names:
            recordings.load(name, folder)
    except BadRecording as fault:
        raise NothingToReplay(folder, str(fault)) from fault
    if not names:
        raise NothingToReplay(folder, "it holds no recording of GPU power")


def _dangerous(asked: Asked) -> int:
    """In how many scenarios an uncontrolled hall must trip, given which are run."""
    if asked.traces is not None:
        return 0  # recordings of two nodes may not be dangerous
    return 1 if asked.quick else DANGEROUS


def _entries(names: tuple[str, ...]) -> list[Entry]:
    known = [one.name for one in ENTRIES]
    plugged = []
    for name in names:
        if (found := entry(name)) is None:
            raise UnknownName("controller", name, known)
        plugged += [found] if name not in known else []
    return [one for one in ENTRIES if not names or one.name in names] + plugged


def _keys(asked: Asked) -> list[Key]:
    names = list(asked.scenarios) or (
        [REPLAYED] if asked.traces else list(QUICK) if asked.quick else list(SCENARIOS)
    )
    for name in names:
        if name not in SCENARIOS:
            raise UnknownName("scenario", name, list(SCENARIOS))
    seeds = asked.seeds or (QUICK_SEEDS if asked.quick else SEEDS)
    folder = str(asked.traces.resolve()) if asked.traces else ""
    levels = [*asked.levels] or (list(LEVELS) if asked.traces else None)
    return keys(names, levels, seeds, quick=asked.quick, traces=folder)


def _write(file: Path, rows: Sequence[Row]) -> None:
    half = file.with_suffix(".new")
    half.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    half.replace(file)


def _write_jobs(file: Path, done: Sequence[Done]) -> None:
    """Work lost of each job of each run, which the pooled rows cannot show."""
    lines = [
        {
            "scenario": each.key.scenario,
            "oversub_pct": each.key.oversub_pct,
            "seed": each.key.seed,
            "controller": each.controller,
            "over_target_s": round(each.figures.over_target_s, 2),
            "jobs_lost_pct": {name: round(pct, 3) for name, pct in each.figures.jobs_lost_pct.items()},
        }
        for each in done
    ]
    file.write_text("[\n" + ",\n".join(json.dumps(line) for line in lines) + "\n]\n")
