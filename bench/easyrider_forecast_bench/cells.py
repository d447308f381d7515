"""Finished runs of one model on one series, kept under a hash of all code and settings that decide them."""

import hashlib
import json
import sys
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import msgspec

from easyrider_bench.cell_folder import CellFolder
from easyrider_bench.cells import texts
from easyrider_forecast_bench.loads.families import Key
from easyrider_forecast_bench.ours import ABLATIONS
from easyrider_forecast_bench.score import Figures

JUDGES = (
    "easyrider_forecast_bench.series",
    "easyrider_forecast_bench.contract",
    "easyrider_forecast_bench.score",
)
LOADS = (
    "easyrider_forecast_bench.series",
    "easyrider_forecast_bench.loads",
    "easyrider_twin.recorded_rows",
    "easyrider_twin.recordings",
)
_PATHS = ("easyrider_forecast_bench.rivals.paths", "easyrider_forecast_bench.rivals.stepwise")
_LENT = (
    "easyrider_forecast_bench.rivals.borrowed", "easyrider_forecaster.core.period",
    "easyrider_forecaster.core.likeness", "easyrider_forecaster.core.harmonics",
)  # fmt: skip
_SMOOTHING = (*_PATHS, *_LENT, "easyrider_forecast_bench.rivals.smoothing")
SOURCES: dict[str, tuple[str, ...]] = {
    "ets": _SMOOTHING,
    "autoets": _SMOOTHING,
    "theta": _SMOOTHING,
    "arima": (*_PATHS, "easyrider_forecast_bench.rivals.arima"),
    "autoarima": (*_PATHS, "easyrider_forecast_bench.rivals.arima"),
    "river": (*_PATHS, "easyrider_forecast_bench.rivals.online"),
    "seasonal-naive": (*_PATHS, *_LENT, "easyrider_forecast_bench.rivals.season"),
}
"""Modules and folders whose text decides what a rival says; of a window, one file; of ours, the whole service."""
_WINDOWS, _OURS = (
    ("easyrider_forecast_bench.rivals.windows",),
    ("easyrider_forecast_bench.ours", "easyrider_forecaster"),
)
LIBRARIES = ("numpy", "statsmodels", "statsforecast", "river")


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """One model on one series; `cpu_s` is what the run took, its share of the batch's start included."""

    model: str
    key: Key
    rating_w: float
    figures: list[Figures]
    us_per_tick: float
    memory_mb: float
    cpu_s: float
    failed: int = 0
    fault: str = ""
    restless: int = 0
    fits: int = 0
    notes: dict[str, float] = {}


class Cells:
    """A folder of finished runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = CellFolder(folder, Done)

    def load(self, model: str, key: Key) -> Done | None:
        """The run where it is finished and nothing that decides it has changed since."""
        return self._folder.load(_name(model, key))

    def store(self, done: Done) -> None:
        """Keep one run."""
        self._folder.store(_name(done.model, done.key), done)


def _name(model: str, key: Key) -> str:
    sources = _OURS if model in ABLATIONS else SOURCES.get(model, _WINDOWS)
    return digest(key, model, (*JUDGES, *LOADS, *sources))


def digest(key: Key, model: str, sources: tuple[str, ...]) -> str:
    """Hash of a series, a model, the text of modules, versions of libraries and the recording itself."""
    recorded = ""
    if key.traces:
        recorded = hashlib.sha256((Path(key.traces) / f"{key.name}.csv.gz").read_bytes()).hexdigest()
    versions = [f"{sys.version_info.major}.{sys.version_info.minor}", *map(version, LIBRARIES)]
    said = json.dumps([model, asdict(key), recorded, versions])
    return hashlib.sha256("\n".join([said, *map(texts, sources)]).encode()).hexdigest()[:24]
