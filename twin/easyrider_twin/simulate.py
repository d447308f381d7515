"""A run in virtual time, without files or processes."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from easyrider_twin.gpus import STEP_S
from easyrider_twin.history import STEPS_PER_SAMPLE, History
from easyrider_twin.outcome import SAMPLE_S, FloatArray, Outcome, trailing_mean
from easyrider_twin.plant import Plant
from easyrider_twin.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What a controller in virtual time may look at; board arrays have shape (n_gpus,), node by node."""

    t_s: float
    power_w: FloatArray  # true draw
    limit_w: FloatArray
    wall_w: dict[str, float]
    hard_w: dict[str, float]
    target_w: dict[str, float]


Controller = Callable[[Snapshot], FloatArray]
"""New limits of all boards, shape (n_gpus,), W."""


def simulate(
    world: World,
    seconds: float,
    *,
    caps_w: float | Controller | None = None,
    control_s: float = 1.0,
    trips: bool = True,
    failures: bool = True,
) -> Outcome:
    """Outcome of `seconds` with default limits, one equal cap, or a controller asked each `control_s`.

    Jobs start at once. With `trips` off no device opens; with `failures` off no module fails.
    Limits are clamped to the range of each board.
    """
    plant = Plant(world, trips=trips, failures=failures)
    places = plant.layout
    limit_w = places.default_limit_w.copy()
    if isinstance(caps_w, int | float):
        limit_w = np.clip(np.full(places.gpus, float(caps_w)), places.min_limit_w, places.max_limit_w)
        plant.boards.settle(limit_w)
    plant.jobs.start()
    per_control = max(1, round(control_s / STEP_S))
    history = History(plant, keep_s=seconds)
    for step in range(round(seconds / SAMPLE_S) * STEPS_PER_SAMPLE):
        if callable(caps_w) and step % per_control == 0:
            limit_w = np.clip(caps_w(_snapshot(plant, limit_w)), places.min_limit_w, places.max_limit_w)
        plant.step(limit_w)
        history.add()
    return history.outcome()


def busiest_minute(
    outcome: Outcome, domain: str, *, earliest_s: float, latest_s: float, window_s: float = 60.0
) -> tuple[float, float]:
    """(begin in s, mean W) of the window with the highest mean wall power that begins in the given span.

    Raises `ValueError` where no whole window begins there.
    """
    width = round(window_s / SAMPLE_S)
    mean_w = trailing_mean(outcome.wall_w[domain], width)[width - 1 :]  # place k: the window that begins at k
    first, last = round(earliest_s / SAMPLE_S), min(round(latest_s / SAMPLE_S), len(mean_w) - 1)
    if first > last:
        raise ValueError(
            f"no window of {window_s} s begins between {earliest_s} and {latest_s} s of this run"
        )
    best = first + int(np.argmax(mean_w[first : last + 1]))
    return best * SAMPLE_S, float(mean_w[best])


def _snapshot(plant: Plant, limit_w: FloatArray) -> Snapshot:
    hard_w, target_w = plant.domains.limits_w()
    return Snapshot(
        t_s=plant.t_s,
        power_w=plant.power_w.copy(),
        limit_w=limit_w.copy(),
        wall_w=plant.domains.by_id(plant.domains.wall_w),
        hard_w=plant.domains.by_id(hard_w),
        target_w=plant.domains.by_id(target_w),
    )
