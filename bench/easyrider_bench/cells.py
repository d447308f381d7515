"""Finished runs, each kept under a hash of all code and settings that decide it."""

import hashlib
import json
import sys
from dataclasses import asdict
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import msgspec

from easyrider_bench.cases import Key
from easyrider_bench.cell_folder import CellFolder
from easyrider_bench.controllers.contract import Entry
from easyrider_bench.score import Figures

HALL = (
    "easyrider_bench.boards", "easyrider_bench.breakers", "easyrider_bench.cases", "easyrider_bench.demand",
    "easyrider_bench.hall", "easyrider_bench.limits", "easyrider_bench.meters", "easyrider_bench.notices",
    "easyrider_bench.record", "easyrider_bench.scenarios", "easyrider_bench.score", "easyrider_bench.sensors",
    "easyrider_bench.sums", "easyrider_bench.supply", "easyrider_bench.timelines", "easyrider_bench.truths",
    "easyrider_bench.watching", "easyrider_bench.windows", "easyrider_bench.controllers.contract",
    "easyrider_twin.domains", "easyrider_twin.gpus", "easyrider_twin.recorded_rows",
    "easyrider_twin.recordings", "easyrider_twin.referee",
    "easyrider_twin.sensors", "easyrider_twin.speed", "easyrider_twin.synthetic", "easyrider_twin.tapes",
    "easyrider_twin.world", "easyrider_twin.data",
)  # fmt: skip
"""Modules and folders whose text decides every run, whoever controls it."""


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """One finished run; `cpu_s` is what it took, its share of the hall included."""

    controller: str
    key: Key
    target_share: float
    figures: Figures
    cpu_s: float


class Cells:
    """A folder of finished runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = CellFolder(folder, Done)

    def load(self, entry: Entry, key: Key) -> Done | None:
        """The run where it is finished and nothing that decides it has changed since."""
        return self._folder.load(_name(entry, key))

    def store(self, entry: Entry, done: Done) -> None:
        """Keep one run."""
        self._folder.store(_name(entry, done.key), done)


def _name(entry: Entry, key: Key) -> str:
    said = json.dumps([entry.name, entry.period_s, entry.woken, entry.truth, entry.exact, asdict(key)])
    code = [texts(module) for module in (*HALL, *entry.sources)]
    recorded = folder_hash(key.traces) if key.traces else ""
    versions = f"{sys.version_info.major}.{sys.version_info.minor}"
    return hashlib.sha256("\n".join([said, versions, recorded, *code]).encode()).hexdigest()[:24]


@lru_cache(maxsize=256)
def texts(module: str) -> str:
    """Hash of a module's text; of all files below it where it is a package or a folder of data."""
    spec = find_spec(module)
    if spec is None:
        raise ModuleNotFoundError(f"{module} decides cells of the bench and is not there", name=module)
    if spec.origin is not None and Path(spec.origin).name != "__init__.py":
        return hashlib.sha256(Path(spec.origin).read_bytes()).hexdigest()
    return "".join(folder_hash(place) for place in spec.submodule_search_locations or ())


@lru_cache(maxsize=256)
def folder_hash(folder: str) -> str:
    """Hash of every file below a folder, names included."""
    whole = hashlib.sha256()
    for file in sorted(Path(folder).rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            whole.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes())
    return whole.hexdigest()
