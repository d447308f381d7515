"""`truth.jsonl`: what really happened, for referees and plots; no controller may read it.

A line every 0.1 s: `boottime_ns` (end of the sample), `t_s` (job clock), `held`, and per domain `wall_w`
(mean over the sample), `hard_w`, `target_w`, `capacity_w` in force; `tripped` lists open devices. Every
tenth also has `jobs`. Lines with `event` (limits, trip, start) stand between them as they happen.
"""

import json
from pathlib import Path
from typing import Any, TextIO

from easyrider_twin.history import History
from easyrider_twin.outcome import Trip
from easyrider_twin.plant import Plant


class Truth:
    """The writer of one run's truth."""

    def __init__(self, plant: Plant, history: History, path: Path) -> None:
        self._plant, self._history = plant, history
        self._file: TextIO = path.open("w", buffering=1)
        self._samples = 0
        self._modules = self._modules_ok()
        self._trips = 0

    def step(self, boot_ns: int) -> None:
        """Write events of the step just done."""
        if self._modules_ok() != self._modules:
            self._modules = self._modules_ok()
            self._event("limits", boot_ns, self._in_force() | {"modules_ok": self._modules})
        for trip in self._plant.trips[self._trips :]:
            self._event("trip", boot_ns, _told(trip))
        self._trips = len(self._plant.trips)

    def started(self, boot_ns: int) -> None:
        """The job clock runs from here."""
        self._event("start", boot_ns, {})

    def sample(self, boot_ns: int) -> None:
        """Write one sample."""
        domains = self._plant.domains
        line: dict[str, Any] = {
            "boottime_ns": boot_ns,
            "t_s": round(self._plant.t_s, 3),
            "held": not self._plant.jobs.started,
            "wall_w": _rounded(domains.by_id(self._history.wall_w)),
            **self._in_force(),
            "tripped": [name for name, device in domains.devices.items() if device.tripped],
        }
        if self._samples % 10 == 0:
            line["jobs"] = self._jobs()
        self._samples += 1
        self._file.write(json.dumps(line) + "\n")

    def close(self) -> None:
        """Finish the file."""
        self._file.close()

    def _jobs(self) -> dict[str, Any]:
        return {
            job.spec.id: {
                "present": job.present,
                "killed": job.killed_at_s is not None,
                "speed": round(job.speed, 4),
                "work_s": round(job.tape.work_s(job.played_s), 3),
                "uncapped_work_s": round(job.tape.work_s(self._plant.t_s), 3),
                "recorded_mean": job.tape.recorded_mean,
            }
            for job in self._plant.jobs.running
        }

    def _event(self, event: str, boot_ns: int, more: dict[str, Any]) -> None:
        line = {"event": event, "boottime_ns": boot_ns, "t_s": round(self._plant.t_s, 3)} | more
        self._file.write(json.dumps(line) + "\n")

    def _in_force(self) -> dict[str, Any]:
        devices = self._plant.domains.devices
        return {
            "hard_w": _rounded({name: d.hard_w for name, d in devices.items()}),
            "target_w": _rounded({name: d.target_w for name, d in devices.items()}),
            "capacity_w": _rounded({name: d.capacity_w for name, d in devices.items()}),
        }

    def _modules_ok(self) -> dict[str, int]:
        return {name: d.modules_ok for name, d in self._plant.domains.devices.items() if d.spec.modules}


def _told(trip: Trip) -> dict[str, Any]:
    return {"domain": trip.domain, "multiple": round(trip.multiple, 4)}


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 3) for name, value in values.items()}
