"""Recordings of real boards as series: what a poller at 10 Hz would have seen of the sum of the GPUs.

A sample holds until the next one is there. Joining samples by a line would tell of the future.
"""

from pathlib import Path

import numpy as np

from easyrider_forecast_bench.loads.families import Key, origins_s
from easyrider_forecast_bench.series import SHORT_S, SLOTS, Array, Series
from easyrider_twin import recordings
from easyrider_twin.recorded_rows import BadRecording, rows_of
from easyrider_twin.recordings import SHIPPED

FAMILY = "recorded"
FIRST_S, FIRST_SHORT_S = 10, 4
"""Origins begin so long after the first sample, in recordings of 100 s or more and in shorter ones."""
ORIGINS, QUICK_ORIGINS = 100, 12


def keys(folder: Path | None, *, quick: bool) -> list[Key]:
    """Every recording of power in a folder, dead sensors included. Raises `BadRecording` for one that is none."""
    place = (folder or SHIPPED).resolve()
    stems = sorted(file.name.removesuffix(".csv.gz") for file in place.glob("*.csv.gz"))
    found = []
    for number, stem in enumerate(stem for stem in stems if not stem.startswith("table_")):
        found.append(
            Key(
                family=FAMILY,
                number=number,
                seconds=_read(place, stem).seconds,
                origins=QUICK_ORIGINS if quick else ORIGINS,
                name=stem,
                traces=str(place),
            )
        )
    return found


def series(key: Key) -> Series:
    """The recording of this name."""
    return _read(Path(key.traces), key.name)


def origins(key: Key) -> Array:
    """Seconds at which everybody forecasts it."""
    first_s = FIRST_S if key.seconds >= SHORT_S else FIRST_SHORT_S
    return origins_s(key.origins, min(first_s, key.seconds - 1), key.seconds - 1, key.number)


def _read(folder: Path, stem: str) -> Series:
    file = folder / f"{stem}.csv.gz"
    boards = _samples(file)
    first_s = max(rows[0, 0] for rows in boards)
    last_s = min(rows[-1, 0] for rows in boards)
    slots = int((last_s - first_s) * SLOTS + 1e-6) // SLOTS * SLOTS
    if slots < SLOTS:
        raise BadRecording(f"{file} is shorter than a second")
    power_w, instant_w = np.zeros(slots), np.zeros(slots)
    busy_pct = np.zeros(slots)
    for rows in boards:
        power_w += _held(rows, 1, first_s, slots)
        instant_w += _held(rows, 2 if np.isfinite(rows[:, 2]).any() else 1, first_s, slots)
        told = np.isfinite(rows[:, 3]).any()
        busy_pct += _held(rows, 3, first_s, slots) / len(boards) if told else np.nan
    return Series(
        family=FAMILY,
        name=stem,
        rating_w=recordings.load(stem, folder).rating_w * len(boards),
        gpus=len(boards),
        power_w=power_w.astype(np.float32),
        instant_w=instant_w.astype(np.float32),
        util_pct=busy_pct.reshape(-1, SLOTS).mean(axis=1).astype(np.float32),
    )


def _held(rows: Array, column: int, first_s: float, slots: int) -> Array:
    """Mean of the samples in each slot, the last sample before it where there is none, (slots,)."""
    rows = rows[np.isfinite(rows[:, column])]
    values = rows[:, column]
    at = np.floor((rows[:, 0] - first_s) * SLOTS + 1e-6).astype(np.int64)
    inside = (at >= 0) & (at < slots)
    number = np.bincount(at[inside], minlength=slots)
    total = np.bincount(at[inside], weights=values[inside], minlength=slots)
    ends_s = first_s + (np.arange(slots) + 1.0) / SLOTS - 1e-9
    newest = np.maximum(np.searchsorted(rows[:, 0], ends_s, side="right") - 1, 0)
    return np.where(number > 0, total / np.maximum(number, 1), values[newest])


def _samples(file: Path) -> list[Array]:
    """Rows (t_s, power_w, power_inst_w, util_pct) of each GPU; a power below 0 W is a reading that failed."""
    tables = rows_of(file, "power_inst_w", "util_pct").values()
    boards = [table[table[:, 1] >= 0] for table in tables]
    if min(map(len, boards)) < 2:
        raise BadRecording(f"{file} holds no power of a GPU")
    return boards
