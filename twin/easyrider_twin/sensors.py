"""What the boards show of themselves: windows, refreshes, gain errors, a stepping energy counter, heat.

A reading is gain x mean of true power over the sensor's window, refreshed at the sensor's own period and
phase. Refreshes shorter than one step of 25 ms show once a step. Recorded 1 s means are shown without a
second averaging.
"""

import numpy as np

from easyrider_twin.gpus import STEP_S
from easyrider_twin.outcome import FloatArray
from easyrider_twin.plant import Plant
from easyrider_twin.speed import clock_ratio

MEAN_STEPS = round(1.0 / STEP_S)
GAIN_SD = 0.03
FLICKER_SD = 0.0035
"""Of single readings: the sum of eight boards at full load scatters by 0.12 % in a recording, so each by 0.35 %.
No sensor under load repeats itself to the last milliwatt."""
REFRESH_S = {"hopper": (0.100, 0.104), "ampere": (0.100, 0.104), "volta": (0.020, 0.0208)}
"""Shortest and longest refresh period; measured boards differ from each other and from a round figure."""
AIR_C = (24.0, 34.0)
WARM_C_PER_W = (0.030, 0.025)
WARM_S = (8.0, 120.0)
"""Chip and heat sink: rise over the air per watt, and time constants."""
IDLE_SM_MHZ = 345
SW_POWER_CAP, GPU_IDLE = 0x4, 0x1


class Sensors:
    """Readings of all boards, arrays of shape (n_gpus,). `unix_us` is the Unix time of the plant's birth."""

    def __init__(self, plant: Plant, unix_us: int) -> None:
        rng = np.random.default_rng([plant.world.seed, 2])
        models, gpus = plant.layout.models, plant.layout.gpus
        low, high = (np.array([REFRESH_S[m.sensor][k] for m in models]) for k in (0, 1))
        self._plant, self._unix_us = plant, unix_us
        self.gain = np.clip(rng.normal(1.0, GAIN_SD, gpus), 0.9, 1.1)
        self._long_mean = np.array([m.sensor == "hopper" for m in models])
        self.power_period_s = rng.uniform(low, high)
        self.energy_period_s = rng.uniform(low, high)
        self._power_due_s = rng.uniform(0.0, self.power_period_s)
        self._energy_due_s = rng.uniform(0.0, self.energy_period_s)
        self._window_w = np.repeat(plant.power_w[None, :], MEAN_STEPS, axis=0)
        self._total_w = self._window_w.sum(axis=0)
        self._true_j = rng.uniform(1e6, 1e8, gpus)  # since the driver was loaded
        self.instant_w = plant.power_w * self.gain
        self.average_w = self.instant_w.copy()
        self.power_stamp_us = np.full(gpus, unix_us, dtype=np.int64)
        self.energy_j = self._true_j.copy()
        self.energy_stamp_us = self.power_stamp_us.copy()
        self._air_c = rng.uniform(*AIR_C, gpus)
        self._warm_c = [each * plant.power_w for each in WARM_C_PER_W]
        self._idle_sm = np.full(gpus, IDLE_SM_MHZ)
        self._rng = rng
        self._max_sm = np.array([m.max_sm_mhz for m in models])

    def see(self) -> None:
        """Take in the plant's last step and refresh what is due."""
        power_w, now_s = self._plant.power_w, self._plant.now_s
        place = self._plant.steps % MEAN_STEPS
        self._total_w += power_w - self._window_w[place]
        self._window_w[place] = power_w
        for part, (each, within_s) in enumerate(zip(WARM_C_PER_W, WARM_S, strict=True)):
            self._warm_c[part] += (power_w * each - self._warm_c[part]) * (STEP_S / within_s)
        self._see_power(power_w, now_s)
        self._see_energy(power_w, now_s)

    @property
    def temperature_c(self) -> FloatArray:
        """Chip temperature."""
        return self._air_c + self._warm_c[0] + self._warm_c[1]

    @property
    def sm_mhz(self) -> np.ndarray:
        """SM clock: that of the natural power's share while occupied, else idle."""
        clocks = np.round(self._max_sm * clock_ratio(self._plant.clock_share))
        return np.where(self._plant.jobs.occupied, clocks, self._idle_sm)

    @property
    def event_reasons(self) -> np.ndarray:
        """NVML's clock event reasons: power cap while a limit binds, idle without a job."""
        idle = np.where(self._plant.jobs.occupied, 0, GPU_IDLE)
        return np.where(self._plant.bound, SW_POWER_CAP, idle)

    def _see_power(self, power_w: FloatArray, now_s: float) -> None:
        due = self._power_due_s <= now_s
        if not due.any():
            return
        long = self._long_mean & ~self._plant.jobs.recorded_mean
        shown_w = np.where(long, self._total_w / MEAN_STEPS, power_w)
        flicker = self.gain * (1.0 + FLICKER_SD * self._rng.standard_normal(len(power_w)))
        self.average_w[due] = (flicker * shown_w)[due]
        self.instant_w[due] = (flicker * power_w)[due]
        at_s = _last_refresh_s(self._power_due_s, self.power_period_s, now_s)
        self.power_stamp_us[due] = self._unix_us + (at_s[due] * 1e6).astype(np.int64)
        self._power_due_s[due] = (at_s + self.power_period_s)[due]

    def _see_energy(self, power_w: FloatArray, now_s: float) -> None:
        felt_w, before_j = power_w * self.gain, self._true_j
        self._true_j = before_j + felt_w * STEP_S
        due = self._energy_due_s <= now_s
        if not due.any():
            return
        at_s = _last_refresh_s(self._energy_due_s, self.energy_period_s, now_s)
        into_s = at_s - (now_s - STEP_S)
        self.energy_j[due] = (before_j + felt_w * into_s)[due]
        self.energy_stamp_us[due] = self._unix_us + (at_s[due] * 1e6).astype(np.int64)
        self._energy_due_s[due] = (at_s + self.energy_period_s)[due]


def _last_refresh_s(due_s: FloatArray, period_s: FloatArray, now_s: float) -> FloatArray:
    """The last refresh not after `now_s`, for boards whose next one is due."""
    return due_s + np.floor(np.maximum(now_s - due_s, 0.0) / period_s) * period_s
