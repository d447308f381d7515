"""Recorded power traces: gzip CSV in, rows of natural draw out."""

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import yaml

from easyrider_twin.outcome import FloatArray
from easyrider_twin.programs import Recorded
from easyrider_twin.recorded_rows import BadRecording, rows_of
from easyrider_twin.tapes import BoolArray, Tape
from easyrider_twin.world import GpuModel

SHIPPED = Path(__file__).parent / "data" / "traces"
GRID_S = 0.025
WORK_RATIO = 0.35
"""Slower samples than this come from a 1 s mean field unless `traces.yaml` says otherwise."""
ABSENT_RATIO = 0.14
"""Below this there is no process: idle boards draw 0.105 of the rating, live contexts 0.18-0.20."""
SHORTEST_S = 2.0
"""A shorter dip is part of the work (communication), not a stall."""
GAP_S = 3.0
"""A longer time without a sample is told of."""
MEAN_PERIOD_S = 0.2
"""Recordings sampled more slowly than this come from a 1 s mean field unless `traces.yaml` says otherwise."""
OVER_RATING = 1.02
"""Recorded boards draw a little over their rating at times; what lies above is no draw of such a board."""
LEAST_W = 1.0
"""A dead reading of 0 W is no draw either."""
_RATINGS_W = (250.0, 300.0, 400.0, 700.0, 1000.0, 1200.0)


class Beside(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `traces.yaml` may say about one file."""

    rating_w: float | None = None
    sensor: Literal["recorded_mean", "instant"] | None = None
    window_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """Power of each recorded board on an even grid of 25 ms: `power_w` (rows, gpus), W."""

    name: str
    power_w: FloatArray
    busy_pct: FloatArray  # (rows,), NaN where not recorded
    rating_w: float
    recorded_mean: bool
    gap_s: float = 0.0
    """Longest time without a sample, joined by a line; 0 where there was none worth a word."""

    @property
    def gpus(self) -> int:
        """Boards recorded."""
        return int(self.power_w.shape[1])

    @property
    def length_s(self) -> float:
        """How long it lasts."""
        return len(self.power_w) * GRID_S


def names(folder: Path | None = None) -> list[str]:
    """Stems of the power traces of a folder, sorted; tables and dead-sensor recordings are no loads."""
    files = (folder or SHIPPED).glob("*.csv.gz")
    stems = sorted(file.name.removesuffix(".csv.gz") for file in files)
    return [stem for stem in stems if not stem.startswith(("table_", "stuck_"))]


@lru_cache(maxsize=16)
def load(name: str, folder: Path | None = None) -> Recording:
    """One recording. Rows are averaged where denser than the grid and joined by lines where sparser."""
    place = folder or SHIPPED
    file = place / f"{name}.csv.gz"
    series = _series(file)
    first_s = max(p[0, 0] for p in series.values())
    last_s = min(p[-1, 0] for p in series.values())
    rows = int((last_s - first_s) / GRID_S)
    if rows < 1:
        raise BadRecording(f"{file} has no instant that all its GPUs share")
    grid_s = first_s + (np.arange(rows) + 0.5) * GRID_S
    power_w = np.stack([_resampled(p[:, 0], p[:, 1], grid_s) for p in series.values()], axis=1)
    known = [told for p in series.values() if len(told := p[np.isfinite(p[:, 2])])]
    busy_pct = np.full(rows, np.nan)
    if known:
        busy_pct = np.mean([np.interp(grid_s, told[:, 0], told[:, 2]) for told in known], axis=0)
    spacing_s = float(np.median(np.diff(next(iter(series.values()))[:, 0])))
    said = _beside(place).get(name, Beside())
    if said.sensor is not None:
        mean = said.sensor == "recorded_mean"
    else:
        mean = (said.window_s or spacing_s) >= MEAN_PERIOD_S
    gap_s = max(float(np.diff(p[:, 0]).max()) for p in series.values())
    return Recording(
        name=name,
        power_w=power_w,
        busy_pct=busy_pct,
        rating_w=said.rating_w or _rating_w(name, power_w),
        recorded_mean=mean,
        gap_s=gap_s if gap_s > max(GAP_S, 5 * spacing_s) else 0.0,
    )


def _series(file: Path) -> dict[int, FloatArray]:
    """Rows (t_s, power_w, util_pct) of each GPU in order of time, shape (samples, 3)."""
    series = rows_of(file, "util_pct")
    if any((rows[:, 1] < 0).any() for rows in series.values()):
        raise BadRecording(f"{file} has a power below 0 W")
    return series


def tape(program: Recorded, gpus: int, model: GpuModel) -> Tape:
    """The recording on `gpus` boards of a model: repeated and scaled where it must be, and saying so."""
    recording = load(program.trace, Path(program.folder) if program.folder else None)
    scale = model.rating_w / recording.rating_w
    ratio = recording.power_w.mean(axis=1) / recording.rating_w
    work, present = _without_gaps(ratio >= WORK_RATIO), _without_gaps(ratio >= ABSENT_RATIO)
    boards = np.arange(gpus) % recording.gpus
    draw_w = recording.power_w[:, boards] * scale
    done = alterations(recording, gpus, model)
    busy_pct = np.where(np.isfinite(recording.busy_pct), recording.busy_pct, np.where(work, 98.0, 0.0))
    return Tape(
        edges_s=np.arange(len(ratio) + 1, dtype=np.float64) * GRID_S,
        draw_w=np.clip(draw_w, LEAST_W, model.rating_w * OVER_RATING).astype(np.float32),
        work=work & present,
        present=present,
        busy_pct=np.clip(busy_pct, 0, 100).astype(np.uint8),
        begin_s=program.start_s % recording.length_s,
        source=f"recorded:{recording.name}" + (f" ({', '.join(done)})" if done else ""),
        recorded_mean=recording.recorded_mean,
    )


def alterations(recording: Recording, gpus: int, model: GpuModel) -> list[str]:
    """What is done to a recording so that it serves on so many boards of a model, in words."""
    done = []
    if gpus > recording.gpus:
        done.append(f"{recording.gpus} boards repeated")
    if abs(recording.rating_w - model.rating_w) > 1e-6:
        done.append(f"scaled from {recording.rating_w:.0f} W to {model.rating_w:.0f} W")
    if recording.gap_s:
        done.append(f"a gap of {recording.gap_s:.0f} s joined by a line")
    if recording.power_w.max() > recording.rating_w * OVER_RATING:
        done.append(f"clipped at {OVER_RATING * model.rating_w:.0f} W")
    return done


def _resampled(t_s: FloatArray, value: FloatArray, grid_s: FloatArray) -> FloatArray:
    """Mean over each cell of the grid of the line through the points; exact for dense and sparse rows."""
    edges_s = np.append(grid_s - GRID_S / 2, grid_s[-1] + GRID_S / 2)
    t_s, first = np.unique(t_s, return_index=True)
    value = value[first]
    all_s = np.union1d(t_s, edges_s)
    line = np.interp(all_s, t_s, value)
    area = np.concatenate(([0.0], np.cumsum(np.diff(all_s) * (line[1:] + line[:-1]) / 2)))
    return np.asarray(np.diff(np.interp(edges_s, all_s, area)) / GRID_S, dtype=np.float64)


def _without_gaps(on: BoolArray) -> BoolArray:
    """The same, with stretches of False shorter than `SHORTEST_S` filled."""
    edges = np.flatnonzero(np.diff(on.astype(np.int8)))
    filled = on.copy()
    for begin, end in pairwise(edges):
        if not on[begin + 1] and (end - begin) * GRID_S < SHORTEST_S:
            filled[begin + 1 : end + 1] = True
    return filled


def _rating_w(name: str, power_w: FloatArray) -> float:
    """From the name (`8x700w`), else the smallest common rating that covers the highest draw."""
    told = re.search(r"\d+x(\d+)w", name)
    if told:
        return float(told.group(1))
    high_w = float(np.quantile(power_w, 0.999))
    return next((rating for rating in _RATINGS_W if rating >= high_w * 0.98), high_w)


@lru_cache(maxsize=8)
def _beside(folder: Path) -> dict[str, Beside]:
    file = folder / "traces.yaml"
    if not file.exists():
        return {}
    try:
        said = msgspec.convert(yaml.safe_load(file.read_text()) or {}, dict[str, Beside])
    except (yaml.YAMLError, msgspec.ValidationError, UnicodeDecodeError) as fault:
        raise BadRecording(f"{file}: {fault}") from fault
    for name, beside in said.items():
        for field in ("rating_w", "window_s"):
            value = getattr(beside, field)
            if value is not None and not 0 < value < math.inf:
                raise BadRecording(f"{file}: {field} of {name} is {value}, not above 0")
    return said
