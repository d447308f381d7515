"""How fast a board works at a given share of the power it would draw uncapped.

Source of the compute-bound curve: stage times and energies of GPT-3 175B on A100 SXM at fixed SM clocks
(`data/speed`), mean over eight stages, forward and backward. A binding power cap acts by the same clocks.
Ratios are of natural draw, never of the rating: a cap above the draw costs nothing.
"""

import numpy as np

from easyrider_twin.outcome import FloatArray

_POWER = np.array([0.50, 0.52, 0.55, 0.58, 0.61, 0.67, 0.74, 0.84, 0.94, 1.00])
_SPEED = np.array([0.65, 0.70, 0.74, 0.78, 0.83, 0.87, 0.91, 0.95, 0.98, 1.00])
_CLOCK = np.array([855, 915, 975, 1035, 1095, 1155, 1215, 1275, 1335, 1410]) / 1410
SLOPE_BELOW = 1.8
"""Not measured below half of the natural power: the slope found there in limit sweeps of V100 and A40."""
SLOWEST = 0.02
"""A job at the device minimum still moves."""


def compute_bound(power_ratio: FloatArray) -> FloatArray:
    """Speed (1 = uncapped) at each share of natural draw; monotone, piecewise linear."""
    below = _SPEED[0] - SLOPE_BELOW * (_POWER[0] - power_ratio)
    measured: FloatArray = np.interp(power_ratio, _POWER, _SPEED)
    return np.where(power_ratio < _POWER[0], np.maximum(below, SLOWEST), measured)


def memory_bound(power_ratio: FloatArray) -> FloatArray:
    """Speed of work that waits for memory: flat down to half of the natural draw, then in proportion.

    The flat part is reported for decode and memory-bound kernels; the fall below it is our assumption.
    """
    flat: FloatArray = np.clip(power_ratio / 0.5, SLOWEST, 1.0)
    return flat


def clock_ratio(power_ratio: FloatArray) -> FloatArray:
    """SM clock (1 = highest) that goes with each share of natural draw."""
    below = _CLOCK[0] * power_ratio / _POWER[0]
    measured: FloatArray = np.interp(power_ratio, _POWER, _CLOCK)
    return np.where(power_ratio < _POWER[0], below, measured)
