"""The twin in real time: one process that holds the physical world and outlives every controller.

Steps end at absolute deadlines of CLOCK_BOOTTIME. A late loop catches up with more steps, never with
longer ones. Files in the run folder: `<node>/nvml.state`, `<node>/jobs.json`; `twin/` with `world.yaml`,
`meters.yaml`, `truth.jsonl`, `control.sock`, `outcome.json` and, once all answer, `ready`.
"""

import asyncio
import contextlib
import json
import signal
import time
from pathlib import Path
from typing import Any

import yaml

from easyrider_twin.control import Control, Refused
from easyrider_twin.gpus import STEP_S
from easyrider_twin.history import History
from easyrider_twin.meters import Instrument
from easyrider_twin.nodes import Nodes, replace_text
from easyrider_twin.plant import Plant
from easyrider_twin.sensors import Sensors
from easyrider_twin.truth import Truth
from easyrider_twin.world import World, dump

STEP_NS = round(STEP_S * 1e9)
BATCH = 40
"""Steps done in one go while catching up, before others get a turn."""


def boot_ns() -> int:
    """CLOCK_BOOTTIME, which all records of a run share."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Twin:
    """One running world."""

    def __init__(self, world: World, run: Path) -> None:
        self._place = run / "twin"
        self._place.mkdir(parents=True, exist_ok=True)
        for stale in ("ready", "outcome.json"):
            (self._place / stale).unlink(missing_ok=True)
        replace_text(self._place / "world.yaml", dump(world))
        self.plant = Plant(world)
        self._sensors = Sensors(self.plant, time.time_ns() // 1000)
        self._nodes = Nodes(self.plant, self._sensors, run)
        self._history = History(self.plant)
        self._truth = Truth(self.plant, self._history, self._place / "truth.jsonl")
        self._meters = {meter.id: Instrument(meter, self.plant) for meter in world.meters}
        self._ends_s: float | None = None
        self._final: dict[str, Any] | None = None
        self._stop = asyncio.Event()
        self._born_ns = boot_ns()

    async def run(self, host: str, *, start: bool = False) -> None:
        """Live until told to stop or signalled; with `start` the jobs' clock runs at once."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        control = Control(self._handlers())
        for meter in self._meters.values():
            await meter.serve(host)
        entries = [meter.entry(host) for meter in self._meters.values()]
        replace_text(self._place / "meters.yaml", yaml.safe_dump({"meters": entries}, sort_keys=False))
        await control.open(self._place / "control.sock")
        self._born_ns = boot_ns() - self.plant.steps * STEP_NS
        if start:
            self._on_start({})
        replace_text(self._place / "ready", f"{boot_ns()}\n")
        try:
            await self._live()
        finally:
            self._write_outcome()
            self.close()
            await control.close()
            for meter in self._meters.values():
                await meter.close()
            for name in ("ready", "control.sock"):
                (self._place / name).unlink(missing_ok=True)

    async def _live(self) -> None:
        while not self._stop.is_set():
            due = (boot_ns() - self._born_ns) // STEP_NS - self.plant.steps
            for _ in range(min(due, BATCH)):
                self.step()
            next_ns = self._born_ns + (self.plant.steps + 1) * STEP_NS
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), max((next_ns - boot_ns()) / 1e9, 0.0))

    def step(self) -> None:
        """One step of the world, from the limits in force to the readings shown, with all that is recorded of it."""
        self.plant.step(self._nodes.enforced_w())
        ended_ns = self._born_ns + self.plant.steps * STEP_NS
        self._sensors.see()
        for meter in self._meters.values():
            meter.see()
        self._truth.step(ended_ns)
        if self._history.add():
            self._truth.sample(ended_ns)
        self._nodes.darken()
        self._nodes.list_jobs()
        self._nodes.show(ended_ns)
        if self._ends_s is not None and self._final is None and self.plant.t_s >= self._ends_s - STEP_S / 2:
            self._write_outcome(final=True)

    def close(self) -> None:
        """Finish the record of what happened, for whoever steps a world without `run`."""
        self._truth.close()

    def _write_outcome(self, final: bool = False) -> dict[str, Any]:
        """The outcome so far; once final, it stays as it was then."""
        if self._final is None:
            summary = self._history.outcome().summary() | {"final": final}
            replace_text(self._place / "outcome.json", json.dumps(summary, indent=1) + "\n")
            if not final:
                return summary
            self._final = summary
        return self._final

    def _handlers(self) -> dict[str, Any]:
        return {
            "start": self._on_start,
            "status": lambda _: self._status(),
            "outcome": lambda _: {"outcome": self._write_outcome()},
            "stop": self._on_stop,
            "fail_module": lambda r: self._on_modules(r, int(r.get("modules", 1))),
            "restore_module": lambda r: self._on_modules(r, 0),
            "gpu_fault": self._on_gpu_fault,
            "node_fault": self._on_node_fault,
            "silence_meter": self._on_silence,
        }

    def _on_start(self, request: dict[str, Any]) -> dict[str, Any]:
        if self.plant.jobs.started:
            raise Refused("the jobs run already")
        self._ends_s = float(request["seconds"]) if request.get("seconds") is not None else None
        self.plant.jobs.start()
        started_ns = self._born_ns + self.plant.steps * STEP_NS
        self._truth.started(started_ns)
        return {"boottime_ns": started_ns}

    def _on_stop(self, _: dict[str, Any]) -> dict[str, Any]:
        self._stop.set()
        return {}

    def _on_modules(self, request: dict[str, Any], broken: int) -> dict[str, Any]:
        device = self.plant.domains.devices[request["domain"]]
        if not 0 <= broken <= device.spec.modules or device.spec.modules == 0:
            raise Refused(f"{device.spec.id} has {device.spec.modules} modules")
        self.plant.break_modules(device.spec.id, broken)
        return {"modules_ok": device.modules_ok}

    def _on_gpu_fault(self, request: dict[str, Any]) -> dict[str, Any]:
        self._nodes.fault_gpu(request.pop("node"), int(request.pop("gpu")), request)
        return {}

    def _on_node_fault(self, request: dict[str, Any]) -> dict[str, Any]:
        self._nodes.fault_node(request.pop("node"), request)
        return {}

    def _on_silence(self, request: dict[str, Any]) -> dict[str, Any]:
        self._meters[request["meter"]].silence(bool(request.get("silent", True)))
        return {}

    def _status(self) -> dict[str, Any]:
        domains = self.plant.domains
        hard_w, target_w = domains.limits_w()
        return {
            "t_s": round(self.plant.t_s, 3),
            "held": not self.plant.jobs.started,
            "final": self._final is not None,
            "wall_w": domains.by_id(self._history.wall_w),
            "hard_w": domains.by_id(hard_w),
            "target_w": domains.by_id(target_w),
            "modules_ok": {name: d.modules_ok for name, d in domains.devices.items() if d.spec.modules},
            "trips": [{"domain": t.domain, "t_s": t.t_s} for t in self.plant.trips],
            "jobs": [job.id for job in self.plant.jobs.running if job.present],
            "late_s": max((boot_ns() - self._born_ns) / 1e9 - self.plant.now_s, 0.0),
        }


def live(world: World, run: Path, host: str = "127.0.0.1", *, start: bool = False) -> None:
    """Run a world in real time until SIGTERM or `stop`; with `start` its jobs run from the first step."""

    async def main() -> None:
        await Twin(world, run).run(host, start=start)

    asyncio.run(main())
