"""A simulated node of its own, for `easyrider twin exec` where no stack is up.

Eight boards of which some idle and some swing between compute and communication, all synthetic:
first-order power under the limit in force, sensors refreshed every 100 ms. It lives as long as its standard
input is open, so it can not outlive the command it was started for.
"""

import math
import select
import shutil
import sys
import time
from pathlib import Path

import numpy as np

from easyrider_twin import statefile
from easyrider_twin.statefile import StateFile

GPUS = 8
STEP_S = 0.1
IDLE_W, RATING_W, FLOOR_W = 75.0, 700.0, 200.0
RISE_S = 0.1
SETTLED_S = 5.0


def create(path: Path) -> StateFile:
    """The state file of an idle node of eight 700 W boards."""
    state = statefile.create(path, GPUS, "standalone")
    state.header["driver_version"], state.header["nvml_version"] = b"570.00 (simulated)", b"12.570.00"
    state.header["cuda_version"] = 12080
    gpus = state.gpus
    for index in range(GPUS):
        gpus["uuid"][index] = f"GPU-5ead0a10-0000-4000-8000-{index:012x}".encode()
        gpus["pci_bus_id"][index] = f"00000000:{0x18 + 0x10 * index:02X}:00.0".encode()
    gpus["name"] = b"NVIDIA H100 80GB HBM3 (simulated)"
    gpus["min_mw"], gpus["max_mw"], gpus["default_mw"] = FLOOR_W * 1e3, RATING_W * 1e3, RATING_W * 1e3
    gpus["requested_mw"] = gpus["enforced_mw"] = gpus["default_mw"]
    gpus["capabilities"] = 1 | 2 | 4 | 8
    gpus["memory_total"], gpus["max_sm_mhz"], gpus["max_mem_mhz"] = 80 << 30, 1980, 2619
    gpus["architecture"], gpus["persistence"] = 9, 1
    gpus["instant_mw"] = gpus["average_mw"] = IDLE_W * 1e3
    return state


class Load:
    """The true and the shown power of the boards, advanced in steps; arrays of shape (n_gpus,)."""

    def __init__(self, gpus: int) -> None:
        self.power_w = np.full(gpus, IDLE_W)
        self.mean_w = np.full(gpus, IDLE_W)
        self.energy_j = np.zeros(gpus)
        self._busy = np.arange(gpus) % 4 != 3  # every fourth board idles
        self._period_s = 2.0 + 0.7 * np.arange(gpus)

    def step(self, t_s: float, dt_s: float, limit_w: np.ndarray) -> None:
        """Moves by `dt_s` to time `t_s` under the limits in force."""
        swing_w = np.where(t_s % self._period_s < 0.75 * self._period_s, 650.0, 250.0)
        demand_w = np.where(self._busy, swing_w, IDLE_W)
        self.power_w += (np.minimum(demand_w, limit_w) - self.power_w) * -math.expm1(-dt_s / RISE_S)
        self.mean_w += (self.power_w - self.mean_w) * -math.expm1(-dt_s / 1.0)
        self.energy_j += self.power_w * dt_s


def show(state: StateFile, load: Load) -> None:
    """Writes what the sensors of the boards say now."""
    busy = load.power_w > 2 * IDLE_W
    bound = load.power_w >= 0.98 * statefile.enforced_limits_mw(state.gpus) / 1e3
    stamp_us = time.time_ns() // 1000
    with statefile.writing_sensors(state):
        gpus = state.gpus
        gpus["instant_mw"], gpus["average_mw"] = load.power_w * 1e3, load.mean_w * 1e3
        gpus["energy_mj"], gpus["energy_stamp_us"] = load.energy_j * 1e3, stamp_us
        gpus["power_stamp_us"] = stamp_us
        gpus["temperature_c"] = 32 + load.mean_w / 25
        gpus["util_gpu_pct"], gpus["util_mem_pct"] = np.where(busy, 98, 0), np.where(busy, 45, 0)
        gpus["sm_mhz"], gpus["mem_mhz"] = np.where(busy, 1755, 345), np.where(busy, 2619, 1593)
        gpus["memory_used"] = np.where(busy, 60 << 30, 1 << 30)
        gpus["event_reasons"] = np.where(bound, 0x4, np.where(busy, 0, 0x1))
    state.header["step_ns"] = time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def main(run_dir: Path) -> None:
    """Makes `<run_dir>/standalone/nvml.state`, says `ready`, moves it until standard input closes."""
    place = run_dir / "standalone"
    place.mkdir(parents=True)
    try:
        state, load = create(place / "nvml.state"), Load(GPUS)
        limits_w = statefile.enforced_limits_mw(state.gpus) / 1e3
        for step in range(round(SETTLED_S / STEP_S)):  # so that the first reading is one of a node at work
            load.step(step * STEP_S, STEP_S, limits_w)
        show(state, load)
        print("ready", flush=True)
        last_s = time.monotonic()
        begun_s = last_s - SETTLED_S
        while not select.select([sys.stdin], [], [], STEP_S)[0]:
            now_s = time.monotonic()
            load.step(now_s - begun_s, now_s - last_s, statefile.enforced_limits_mw(state.gpus) / 1e3)
            state.header["sim_ns"] = int((now_s - begun_s) * 1e9)
            show(state, load)
            last_s = now_s
    finally:
        shutil.rmtree(run_dir)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
