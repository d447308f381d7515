"""The edge to the NVML library: one state file and one job list a node. Milliwatts stay in here."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from easyrider_twin import statefile
from easyrider_twin.jobs import Running
from easyrider_twin.outcome import FloatArray
from easyrider_twin.plant import Plant
from easyrider_twin.sensors import Sensors
from easyrider_twin.statefiles import StateFiles

DRIVER, NVML, CUDA = b"575.57.08", b"12.575.57.08", 12090
GPU_IS_LOST = 15
CAPABILITIES = 1 | 2 | 4 | 8
FAULTS = {
    "code": "fault_code", "delay_us": "fault_delay_us", "blank": "blank_mask", "write_fault": "write_fault",
}  # fmt: skip
NODE_FAULTS = ("driver_state", "deny_set", "call_latency_ns")
SLOW_STEPS = 4
"""Clocks, heat and utilisation are written every 0.1 s."""


class Nodes:
    """State files `<run>/<node>/nvml.state` and job lists `<run>/<node>/jobs.json` of a plant."""

    def __init__(self, plant: Plant, sensors: Sensors, run: Path) -> None:
        self._plant, self._sensors, self._run = plant, sensors, run
        self._started_s: dict[str, float] = {}
        self._dark: frozenset[str] = frozenset()
        self._number = {node: number for number, node in enumerate(plant.layout.slices)}
        self._files = StateFiles([self._create(node) for node in self._number])
        self._memory = np.array([m.memory_bytes for m in plant.layout.models], dtype=np.uint64)
        self._mem_mhz = np.array([m.max_mem_mhz for m in plant.layout.models])
        self._jobs_of: dict[str, list[Running]] = {node: [] for node in self._number}
        for job in plant.jobs.running:
            for node in job.nodes:
                self._jobs_of[node].append(job)
        self.show(0)
        self.list_jobs()

    def enforced_w(self) -> FloatArray:
        """The limit each board's firmware obeys now: the lowest of what was set in and out of band."""
        enforced_mw, outside_mw, min_mw = (
            self._read(name) for name in ("enforced_mw", "out_of_band_mw", "min_mw")
        )
        lowest = np.where(outside_mw > 0, np.minimum(enforced_mw, outside_mw), enforced_mw)
        limit_w: FloatArray = np.maximum(lowest, min_mw) / 1000.0
        return limit_w

    def show(self, boot_ns: int) -> None:
        """Write the readings of this step, which ended at this CLOCK_BOOTTIME."""
        seen, files = self._sensors, self._files
        together: dict[str, np.ndarray] = {
            "instant_mw": (seen.instant_w * 1000.0).astype(np.uint32),
            "average_mw": (seen.average_w * 1000.0).astype(np.uint32),
            "power_stamp_us": seen.power_stamp_us,
            "energy_mj": (seen.energy_j * 1000.0).astype(np.uint64),
            "energy_stamp_us": seen.energy_stamp_us,
        }
        with statefile.writing_sensors(files):
            self._write(together)
        if self._plant.steps % SLOW_STEPS == 0:
            self._show_slow()
        files.header["step_ns"] = boot_ns
        files.header["sim_ns"] = round(self._plant.t_s * 1e9)

    def darken(self) -> None:
        """Boards of nodes that lost their supply answer as lost."""
        for node in self._plant.domains.dark_nodes() - self._dark:
            self._files.boards(self._number[node])["fault_code"] = GPU_IS_LOST
            self._dark |= {node}

    def list_jobs(self) -> None:
        """Replace the lists of nodes where a job came or went; one over several nodes stands in each under one id."""
        now_s = time.time()
        for node in self._plant.jobs.changed:
            jobs = [self._listed(job, node, now_s) for job in self._jobs_of[node] if job.present]
            replace_text(self._run / node / "jobs.json", json.dumps({"jobs": jobs}))
        self._plant.jobs.changed.clear()

    def fault_gpu(self, node: str, gpu: int, what: dict[str, Any]) -> None:
        """Set the faults named: code, delay_us, blank, write_fault, xid, out_of_band_w (0 ends it).

        Raises `KeyError` for an unknown node or fault, `IndexError` for an unknown board.
        """
        record = self._files.boards(self._number[node])[gpu : gpu + 1]
        if not len(record):
            raise IndexError(f"{node} has no GPU {gpu}")
        for name, value in what.items():
            if name == "xid":
                record["xid_code"] = int(value)
                record["xid_seq"] += 1
            elif name == "out_of_band_w":
                record["out_of_band_mw"] = round(float(value) * 1000)
            else:
                record[FAULTS[name]] = int(value)

    def fault_node(self, node: str, what: dict[str, Any]) -> None:
        """Set driver_state, deny_set or call_latency_ns of a whole node. Raises `KeyError`."""
        for name, value in what.items():
            if name not in NODE_FAULTS:
                raise KeyError(name)
            self._files.header[name][self._number[node]] = int(value)

    def _create(self, node: str) -> tuple[Path, int]:
        (self._run / node).mkdir(parents=True, exist_ok=True)
        place = self._plant.layout.slices[node]
        models = self._plant.layout.models[place]
        file = statefile.create(self._run / node / "nvml.state", len(models), node)
        file.header["driver_version"], file.header["nvml_version"] = DRIVER, NVML
        file.header["cuda_version"] = CUDA
        for board, model in enumerate(models):
            gpu = file.gpus[board : board + 1]
            gpu["uuid"] = self._plant.layout.uuids[place.start + board].encode()
            gpu["name"], gpu["pci_bus_id"] = model.name.encode(), f"00000000:{board + 1:02X}:00.0".encode()
            gpu["min_mw"], gpu["max_mw"] = round(model.min_limit_w * 1000), round(model.max_limit_w * 1000)
            gpu["default_mw"] = gpu["requested_mw"] = gpu["enforced_mw"] = round(model.default_limit_w * 1000)
            gpu["capabilities"], gpu["architecture"] = CAPABILITIES, model.architecture
            gpu["memory_total"], gpu["persistence"] = model.memory_bytes, 1
            gpu["max_sm_mhz"], gpu["max_mem_mhz"] = model.max_sm_mhz, model.max_mem_mhz
        return file.path, len(models)

    def _show_slow(self) -> None:
        seen, jobs = self._sensors, self._plant.jobs
        used = np.where(jobs.occupied, self._memory // 10 * 8, self._memory // 200)
        self._write(
            {
                "temperature_c": seen.temperature_c,
                "sm_mhz": seen.sm_mhz,
                "mem_mhz": self._mem_mhz,
                "util_gpu_pct": jobs.busy_pct,
                "util_mem_pct": jobs.busy_pct // 2,
                "event_reasons": seen.event_reasons,
                "memory_used": used,
            }
        )

    def _listed(self, job: Running, node: str, now_s: float) -> dict[str, Any]:
        layout = self._plant.layout
        return {
            "id": job.id,
            "type_key": job.spec.type_key,
            "priority_class": job.spec.priority_class,
            "tenant": job.spec.tenant,
            "queue": job.spec.queue,
            "gpu_uuids": [layout.uuids[layout.index(node, board)] for board in job.spec.gpus[node]],
            "started": round(self._started_s.setdefault(job.id, now_s), 3),
        }

    def _read(self, field: str) -> np.ndarray:
        """That field of all boards, as the files hold it now."""
        return np.asarray(self._files.records[field][self._files.rows])

    def _write(self, fields: dict[str, np.ndarray]) -> None:
        """Put a value a board into each of these fields."""
        for field, values in fields.items():
            self._files.records[field][self._files.rows] = values


def replace_text(path: Path, text: str) -> None:
    """Put a whole file in place at once."""
    half = path.with_suffix(path.suffix + ".new")
    half.write_text(text)
    half.replace(path)
