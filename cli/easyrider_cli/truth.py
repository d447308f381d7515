"""What really happened in a running rack, read from the twin's own record."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from easyrider_twin.outcome import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerHistory:
    """Wall watts and limits per domain over the job clock, spaced 0.1 s; limits shrink with lost modules."""

    t_s: FloatArray
    wall_w: dict[str, FloatArray]
    hard_w: dict[str, FloatArray]
    target_w: dict[str, FloatArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkHistory:
    """Work-seconds of one job over the job clock, about one a second, beside those of an uncapped run."""

    t_s: FloatArray
    work_s: FloatArray
    uncapped_work_s: FloatArray


class TruthTail:
    """Follows `truth.jsonl` while it is written; `poll` gives the newest sample, if there is one."""

    def __init__(self, path: Path) -> None:
        self._path, self._offset = path, 0

    def poll(self) -> dict[str, Any] | None:
        """The newest sample written since the last call."""
        newest: dict[str, Any] | None = None
        for line in self._new_lines():
            sample = json.loads(line)
            if "event" not in sample:
                newest = sample
        return newest

    def _new_lines(self) -> list[str]:
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return whole.decode().splitlines()


def power_history(path: Path, seconds: float) -> PowerHistory:
    """The samples of the job clock's first `seconds`."""
    samples = list(_samples(path, seconds))
    domains = samples[0]["wall_w"] if samples else {}

    def column(key: str, domain: str) -> FloatArray:
        return np.array([sample[key][domain] for sample in samples], dtype=np.float64)

    return PowerHistory(
        t_s=np.array([sample["t_s"] for sample in samples], dtype=np.float64),
        wall_w={d: column("wall_w", d) for d in domains},
        hard_w={d: column("hard_w", d) for d in domains},
        target_w={d: column("target_w", d) for d in domains},
    )


def work_histories(path: Path, seconds: float) -> dict[str, WorkHistory]:
    """The work of every job in the job clock's first `seconds`, by job."""
    rows: dict[str, list[tuple[float, float, float]]] = {}
    for sample in _samples(path, seconds):
        for job, told in sample.get("jobs", {}).items():
            row = (sample["t_s"], told["work_s"], told["uncapped_work_s"])
            rows.setdefault(job, []).append(row)
    return {
        job: WorkHistory(
            t_s=np.array([row[0] for row in found]),
            work_s=np.array([row[1] for row in found]),
            uncapped_work_s=np.array([row[2] for row in found]),
        )
        for job, found in rows.items()
    }


def start_ns(path: Path) -> int:
    """The boot clock's time at which the job clock started. Raises `ValueError` where it never did."""
    with path.open() as file:
        for line in file:
            told = json.loads(line)
            if told.get("event") == "start":
                return int(told["boottime_ns"])
    raise ValueError(f"{path} holds no start")


def _samples(path: Path, seconds: float) -> Iterator[dict[str, Any]]:
    with path.open() as file:
        for line in file:
            if not line.endswith("\n"):
                return  # half written
            sample = json.loads(line)
            if "event" not in sample and not sample["held"] and sample["t_s"] <= seconds:
                yield sample
