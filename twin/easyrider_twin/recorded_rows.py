"""What a file of recorded power holds, as it stands there: gzip CSV in, one table a GPU out."""

import csv
import gzip
import math
import zlib
from collections import defaultdict
from pathlib import Path

import numpy as np

from easyrider_twin.outcome import FloatArray


class BadRecording(Exception):
    """A trace file cannot be replayed; the message names the file and why."""


def rows_of(file: Path, *beside: str) -> dict[int, FloatArray]:
    """Samples of each GPU in order of time, (samples, 2 + columns): t_s, power_w and the columns named.

    Rows without power are left out; what is empty in another column is NaN. Raises `BadRecording` where the file
    cannot be read, holds a time that is no number, or less than two samples of a GPU.
    """
    found: dict[int, list[tuple[float, ...]]] = defaultdict(list)
    try:
        with gzip.open(file, "rt", newline="") as lines:
            for row in csv.DictReader(lines):
                power_w = float(row["power_w"] or "nan")
                if row["gpu"].isdigit() and math.isfinite(power_w):
                    others = (float(row.get(name) or "nan") for name in beside)
                    found[int(row["gpu"])].append((float(row["t_s"]), power_w, *others))
    except (
        OSError,
        EOFError,
        zlib.error,
        csv.Error,
        KeyError,
        ValueError,
        TypeError,
        AttributeError,
    ) as fault:
        raise BadRecording(f"{file}: {fault!r}; wanted gzip CSV with columns t_s, gpu, power_w") from fault
    if not found or min(map(len, found.values())) < 2:
        raise BadRecording(f"{file} holds no power of a GPU")
    tables = {gpu: np.array(sorted(rows)) for gpu, rows in sorted(found.items())}
    if not all(np.isfinite(table[:, 0]).all() for table in tables.values()):
        raise BadRecording(f"{file} has a time stamp that is no number")
    return tables
