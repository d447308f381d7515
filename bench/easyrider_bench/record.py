"""What is kept of one run, from which every figure follows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from easyrider_bench.cases import Case
from easyrider_bench.controllers.contract import Floats

Singles = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """Full-speed seconds of work done in the job's window, and those of the same window at full speed."""

    id: str
    gpus: int
    weight: float
    done_s: float
    due_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One run since its jobs began: T steps of 50 ms, D domains of the site."""

    case: Case
    wall_w: Singles  # (T, D) mean of each step
    hard_w: Singles  # (T, D) in force
    target_w: Singles  # (T, D)
    jobs: tuple[JobRecord, ...]
    trips: int
    heat_max: float
    sum_rule_s: float
    sum_rule_worst_w: float
    changes: int  # of all boards
    turns: int
    timed_looks: int
    plan_cpu_s: float  # of those


class Tapes:
    """Power and limits of all runs as they come, (steps, runs, domains)."""

    def __init__(self, cases: Sequence[Case], steps: int, domains: int) -> None:
        shape = (steps, len(cases), domains)
        self._arrays = tuple(np.empty(shape, dtype=np.float32) for _ in range(3))
        self._count = 0

    def add(self, wall_w: Floats, hard_w: Floats, target_w: Floats) -> None:
        """One step, arrays of shape (runs, domains)."""
        for array, values in zip(self._arrays, (wall_w, hard_w, target_w), strict=True):
            array[self._count] = values
        self._count += 1

    def of(self, run: int, domains: int) -> tuple[Singles, Singles, Singles]:
        """(wall, hard, target) of one run, each (T, domains)."""
        wall, hard, target = (array[: self._count, run, :domains] for array in self._arrays)
        return wall, hard, target
