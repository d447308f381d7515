"""What came of a run: work of each job, trips, power against limits."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
SAMPLE_S = 0.1
"""Spacing of the power history."""
TARGET_WINDOW_S = 10.0
"""`target_w` is kept as a mean over this window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome:
    """Work-seconds done, and those an uncapped run that nothing tripped had done in the same time."""

    id: str
    type_key: str
    gpus: int
    source: str
    """Where its power comes from: `recorded:<trace>` (with what was done to it) or `synthetic`."""
    work_s: float
    uncapped_work_s: float
    killed_at_s: float | None

    @property
    def lost_pct(self) -> float:
        """Share of the uncapped work that was not done."""
        return lost_pct([self])


@dataclass(frozen=True, slots=True)
class Trip:
    """A protective device opened and darkened all below it."""

    domain: str
    t_s: float
    multiple: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Power history (means over 0.1 s, wall watts by domain), trips and work of one run of `seconds`."""

    seconds: float
    jobs: tuple[JobOutcome, ...]
    trips: tuple[Trip, ...]
    t_s: FloatArray
    wall_w: dict[str, FloatArray]
    hard_w: dict[str, FloatArray]
    target_w: dict[str, FloatArray]
    notes: tuple[str, ...] = ()

    @property
    def work_lost_pct(self) -> float:
        """1 - progress / uncapped progress, weighted by GPUs, in per cent."""
        return lost_pct(self.jobs)

    def over_hard_j(self, domain: str) -> float:
        """Joules above the hard limit in force, of 0.1 s means."""
        return float(np.maximum(self.wall_w[domain] - self.hard_w[domain], 0.0).sum() * SAMPLE_S)

    def over_target_j(self, domain: str) -> float:
        """Joules above the target in force, of means over 10 s."""
        mean_w = trailing_mean(self.wall_w[domain], round(TARGET_WINDOW_S / SAMPLE_S))
        return float(np.maximum(mean_w - self.target_w[domain], 0.0).sum() * SAMPLE_S)

    def summary(self) -> dict[str, Any]:
        """The outcome without its history, ready for JSON."""
        return {
            "seconds": self.seconds,
            "trips": [
                {"domain": t.domain, "t_s": round(t.t_s, 3), "multiple": round(t.multiple, 4)}
                for t in self.trips
            ],
            "work_lost_pct": round(self.work_lost_pct, 4),
            "jobs": [
                {
                    "id": job.id,
                    "type_key": job.type_key,
                    "gpus": job.gpus,
                    "source": job.source,
                    "work_s": round(job.work_s, 3),
                    "uncapped_work_s": round(job.uncapped_work_s, 3),
                    "work_lost_pct": round(job.lost_pct, 4),
                    "killed_at_s": job.killed_at_s,
                }
                for job in self.jobs
            ],
            "peak_w": {d: round(float(w.max(initial=0.0)), 1) for d, w in self.wall_w.items()},
            "over_target_j": {d: round(self.over_target_j(d), 1) for d in self.wall_w},
            "over_hard_j": {d: round(self.over_hard_j(d), 1) for d in self.wall_w},
            "notes": list(self.notes),
        }


def lost_pct(jobs: tuple[JobOutcome, ...] | list[JobOutcome]) -> float:
    """Work lost over several jobs in per cent, weighted by GPUs; 0 where there was none to do."""
    due = sum(job.gpus * job.uncapped_work_s for job in jobs)
    done = sum(job.gpus * job.work_s for job in jobs)
    return 100.0 * (1.0 - done / due) if due > 0 else 0.0


def trailing_mean(values: FloatArray, width: int) -> FloatArray:
    """Mean of the last `width` values at each place; of those there are at the beginning."""
    total = np.concatenate(([0.0], np.cumsum(values)))
    last = np.arange(1, len(values) + 1)
    first = np.maximum(last - width, 0)
    return np.asarray((total[last] - total[first]) / (last - first), dtype=np.float64)
