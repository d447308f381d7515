"""Numbers that no site can mean: a document that says one is refused where it is read, not where it is used.

Far beyond what exists, and far inside what a float holds, so that no product or quotient of two of them overflows.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any, Final

from easyrider.records import KEYS, Faults

LARGEST_W: Final = 1e11
"""100 GW: more than a country's grid feeds at one place."""
LARGEST_GPU_W: Final = 1e5
LARGEST_NODE_W: Final = 1e6
LARGEST_S: Final = 1e8
"""Three years."""
SMALLEST: Final = 1e-9
"""Of anything but zero."""
MOST: Final[dict[str, float]] = {
    "fallback_w_per_gpu": LARGEST_GPU_W,
    "gpu_max_w": LARGEST_GPU_W,
    "gpu_min_w": LARGEST_GPU_W,
    "pilot_floor_w": LARGEST_GPU_W,
    "overhead_w": LARGEST_NODE_W,
    "overhead_slope": 10.0,
    "weight": 1e6,
    "limit_a": 1e7,
    "voltage_v": 1e7,
    "multiple": 1e4,
    "above_c": 1e3,
    "target_window_s": 3600.0,
    "cooldown_s": 3600.0,
    "start_exempt_s": 3600.0,
    "wake_exempt_s": 3600.0,
    "ttl_s": 600.0,
    "grant_every_s": 600.0,
    "dead_man_s": 600.0,
    "second_stage_s": 600.0,
    "leader_lease_s": 600.0,
    "region_lease_s": 600.0,
    "meter_delay_s": 600.0,
    "sensor_window_s": 600.0,
    "actuation_s": 600.0,
}
"""By the field's name. A silent node counts as the worst until its second stage, so that is minutes, not hours."""


def check_magnitudes(record: Any, faults: Faults, place: str = "") -> None:
    """Adds every number of a record, and of the records in it, that is larger or closer to zero than anything is."""
    for name, at, value in _numbers(record, place):
        most = _most(name)
        if abs(value) > most:
            faults.add(at, f"is {value:g}, above {most:g}, the most that is taken")
        elif 0 < abs(value) < SMALLEST:
            faults.add(at, f"is {value:g}, closer to 0 than {SMALLEST:g}, the least that is taken")


def _most(name: str) -> float:
    if name in MOST:
        return MOST[name]
    if name.endswith(("_w", "_w_per_s")):
        return LARGEST_W
    return LARGEST_S if name.endswith("_s") else 1e12


def _numbers(record: Any, place: str) -> Iterator[tuple[str, str, float]]:
    """(field, its place in the document, number) of all numbers below a record."""
    for field in dataclasses.fields(record):
        name = KEYS.get(field.name, field.name)
        at = f"{place}.{name}" if place else name
        value = getattr(record, field.name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield name, at, value
        elif dataclasses.is_dataclass(value):
            yield from _numbers(value, at)
        elif isinstance(value, dict):
            for key, one in value.items():
                if dataclasses.is_dataclass(one):
                    yield from _numbers(one, f"{at}.{key}")
        elif isinstance(value, tuple):
            for index, one in enumerate(value):
                if dataclasses.is_dataclass(one):
                    row = getattr(one, "id", getattr(one, "name", index))
                    yield from _numbers(one, f"{at}[{row}]")
