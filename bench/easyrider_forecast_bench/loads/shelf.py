"""Series kept on disk: every model reads the same numbers, and each is made once."""

import os
from pathlib import Path

import numpy as np

from easyrider_forecast_bench.loads import families, recorded
from easyrider_forecast_bench.loads.families import Key
from easyrider_forecast_bench.series import HORIZONS_S, WARM_UP_S, Array, Series

_ARRAYS = ("power_w", "instant_w", "util_pct", "natural_w", "limit_w")
_OF_JOBS = ("parts_w", "part_instant_w")


def series(key: Key, file: Path, *, jobs: bool) -> Series:
    """The series of this key, from `file` where it is there; the jobs of a domain only where asked for."""
    if key.family == recorded.FAMILY:
        return recorded.series(key)
    if not file.exists():
        made = families.series(key)
        half = file.with_suffix(f".{os.getpid()}.npz")  # two workers may make the same at once
        arrays = {name: getattr(made, name) for name in (*_ARRAYS, *_OF_JOBS)}
        np.savez(half, rating_w=made.rating_w, gpus=made.gpus, released_s=made.released_s, **arrays)
        half.replace(file)
    with np.load(file) as kept:
        return Series(
            family=key.family,
            name=key.name,
            rating_w=float(kept["rating_w"]),
            gpus=int(kept["gpus"]),
            released_s=int(kept["released_s"]),
            **{name: kept[name] for name in (_ARRAYS + _OF_JOBS if jobs else _ARRAYS)},
        )


def origins_s(key: Key, one: Series) -> Array:
    """Seconds at which everybody forecasts the series."""
    if key.family == recorded.FAMILY:
        return recorded.origins(key)
    first_s = one.released_s + 60 if one.released_s else WARM_UP_S
    return families.origins_s(key.origins, first_s, one.seconds - HORIZONS_S[-1], key.number)
