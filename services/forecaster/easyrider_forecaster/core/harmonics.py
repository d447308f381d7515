"""A second opinion on a period: the pitch whose harmonics hold the power, and whose half-way lines hold none."""

from functools import lru_cache

import numpy as np

from easyrider_forecaster.core.arrays import SLOT_S, Array

_RATIO = 1.03
"""Neighbouring bands; harmonic k of a band then lies a fixed number of bands above it."""
_HARMONICS = 5
_HIGHEST_HZ = 0.5 / SLOT_S


def pitch(power: Array, padded: int, longest_s: float) -> Array:
    """Period in s of each row, to 3 %: (rows, padded / 2 + 1) power spectra -> (rows,). Always some answer.

    Source: harmonic sum of band amplitudes on a logarithmic axis, half-way lines subtracted.
    """
    low, share, periods_s = _bands(padded, longest_s)
    held = np.concatenate((np.zeros((len(power), 1), power.dtype), np.cumsum(power, axis=1)), axis=1)
    edges = held[:, low] * (1 - share) + held[:, low + 1] * share
    amplitude = np.sqrt(np.maximum(np.diff(edges, axis=1), 0.0))
    bands = amplitude.shape[1]
    total = np.zeros_like(amplitude)
    for harmonic in range(1, _HARMONICS + 1):
        up = _up(harmonic)
        total[:, : bands - up] += amplitude[:, up:]
        half = _up(harmonic - 0.5)
        if half >= 0:
            total[:, : bands - half] -= amplitude[:, half:]
        else:
            total[:, -half:] -= amplitude[:, :half]
    return np.asarray(periods_s[total.argmax(axis=1)])


def _up(harmonic: float) -> int:
    return round(float(np.log(harmonic) / np.log(_RATIO)))


@lru_cache(maxsize=8)
def _bands(padded: int, longest_s: float) -> tuple[Array, Array, Array]:
    """Line below each edge, share of the next line that belongs to it, and the period of each band."""
    number = int(np.log(_HIGHEST_HZ * longest_s) / np.log(_RATIO)) + 1
    middles_hz = _RATIO ** np.arange(number) / longest_s
    edges_hz = np.append(middles_hz * _RATIO**-0.5, middles_hz[-1] * _RATIO**0.5)
    at = np.minimum(edges_hz * padded * SLOT_S + 0.5, padded // 2 - 1e-3)
    low = at.astype(np.int64)
    return low, (at - low).astype(np.float32), 1.0 / middles_hz
