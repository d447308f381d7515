"""The whole bench: which runs are asked for, and what is written."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from easyrider.errors import EasyRiderError
from easyrider_forecast_bench.batches import Say, finish
from easyrider_forecast_bench.cells import Cells, Done
from easyrider_forecast_bench.loads import families, recorded
from easyrider_forecast_bench.loads.families import Key
from easyrider_forecast_bench.ours import ABLATIONS, NAME
from easyrider_forecast_bench.rivals.table import RIVALS
from easyrider_forecast_bench.telling.pooled import ratios
from easyrider_forecast_bench.telling.rhythm_verdicts import rhythm_verdicts
from easyrider_forecast_bench.telling.rows import Row, rows
from easyrider_forecast_bench.telling.table import table
from easyrider_forecast_bench.telling.verdicts import verdicts
from easyrider_forecast_bench.trials import rhythms
from easyrider_twin.recorded_rows import BadRecording
from easyrider_twin.recordings import SHIPPED

FULL, OF_QUICK, OF_TRACES, OF_PART = (
    "forecasters",
    "forecasters-quick",
    "forecasters-traces",
    "forecasters-part",
)
MODELS = (NAME, *RIVALS, *(name for name in ABLATIONS if name != NAME))
FAMILIES = (recorded.FAMILY, *families.SYNTHETIC)
UNRIVALLED = ("capped",)
"""No rival knows of limits, so none is asked."""
UNABLATED = ("capped", "domain")
"""What an ablation shows is shown by the jobs; twelve domains of twenty jobs would take most of the time."""


class UnknownName(EasyRiderError):
    """A model or family was asked for that is not there; nothing was run."""

    def __init__(self, what: str, name: str, known: Sequence[str]) -> None:
        self.what, self.name, self.known = what, name, tuple(known)
        super().__init__(f"there is no {what} {name}: choose of {', '.join(known)}")


class NothingToForecast(EasyRiderError):
    """A folder without a recording, or with a file that is none; nothing was run."""

    def __init__(self, folder: Path, why: str) -> None:
        self.folder, self.why = folder, why
        super().__init__(
            f"--traces {folder}: {why}; name a folder of *.csv.gz with columns t_s, gpu, power_w"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What to run. Empty names mean all; `traces` takes the recordings of a folder, and nothing else."""

    out: Path
    quick: bool = False
    traces: Path | None = None
    models: tuple[str, ...] = ()
    families: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Of the file of rows: only the whole bench writes the whole file."""
        if self.models or self.families:
            return OF_PART
        if self.traces is not None:
            return OF_TRACES
        return OF_QUICK if self.quick else FULL


def run(asked: Asked, say: Say, tell: Callable[[str], None]) -> list[Row]:
    """Rows of the report, written to `<out>/<name>.json` with pictures beside it, and told as text.

    Raises `UnknownName`, `NothingToForecast`.
    """
    for name in asked.models:
        if name not in MODELS:
            raise UnknownName("model", name, MODELS)
    keys = _keys(asked)
    plan = [(model, _of(model, keys)) for model in MODELS if not asked.models or model in asked.models]
    done = finish(plan, Cells(asked.out / "forecaster-cells"), asked.out / "forecaster-series", say)
    place = {name: at for at, name in enumerate(MODELS)}
    done.sort(key=lambda each: (FAMILIES.index(each.key.family), each.key, place[each.model]))
    asked.out.mkdir(parents=True, exist_ok=True)
    stem, found = asked.out / asked.name, rows(done)
    judged = verdicts(done)
    if asked.name in (FULL, OF_QUICK):
        judged += rhythm_verdicts(rhythms())
    _write(stem.with_suffix(".json"), found)
    _write(stem.with_name(f"{stem.name}-runs.json"), [_run(each) for each in done])
    _write(stem.with_name(f"{stem.name}-asked.json"), [*map(asdict, judged), *_ratios(done)])
    from easyrider_forecast_bench.telling.plots import draw  # pictures cost a second of imports

    pictures = draw(done, stem)
    tell(table(done, judged))
    tell(f"rows: {stem.with_suffix('.json')}, pictures: {', '.join(map(str, pictures))}\n")
    return found


def _keys(asked: Asked) -> list[Key]:
    for name in asked.families:
        if name not in FAMILIES:
            raise UnknownName("family", name, FAMILIES)
    try:
        traces = recorded.keys(asked.traces, quick=asked.quick)
    except BadRecording as fault:
        raise NothingToForecast(asked.traces or SHIPPED, str(fault)) from fault
    if not traces:
        raise NothingToForecast(asked.traces or SHIPPED, "it holds no recording of GPU power")
    every = traces if asked.traces else [*traces, *families.keys(quick=asked.quick)]
    return [key for key in every if not asked.families or key.family in asked.families]


def _of(model: str, keys: Sequence[Key]) -> list[Key]:
    if model == NAME:
        return list(keys)
    left_out = UNABLATED if model in ABLATIONS else UNRIVALLED
    return [key for key in keys if key.family not in left_out]


def _run(each: Done) -> dict[str, object]:
    """What a row of a horizon cannot hold."""
    return {
        "family": each.key.family,
        "series": each.key.name,
        "model": each.model,
        "seconds": each.key.seconds,
        "rating_w": each.rating_w,
        "memory_mb": round(each.memory_mb, 1),
        "fits": each.fits,
        "fits_failed": each.failed,
        "fits_not_converged": each.restless,
        "first_fault": each.fault,
        "cpu_s": round(each.cpu_s, 3),
        **each.notes,
    }


def _ratios(done: Sequence[Done]) -> list[dict[str, object]]:
    return [
        {"model": model, **asdict(one), "ratio": one.ratio}
        for model in ABLATIONS
        for family in FAMILIES
        if family != recorded.FAMILY
        for one in ratios(done, family, model)
    ]


def _write(file: Path, lines: Sequence[object]) -> None:
    half = file.with_suffix(".new")
    half.write_text("[\n" + ",\n".join(json.dumps(line) for line in lines) + "\n]\n")
    half.replace(file)
