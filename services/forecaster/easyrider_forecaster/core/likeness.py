"""How alike a series is to itself some lags later: autocorrelations and power spectra, many rows at once."""

from functools import lru_cache

import numpy as np

from easyrider_forecaster.core.arrays import Array

LONGEST_SLOTS = 400
_UNREAL_W = 1e9
"""No board draws a gigawatt; single precision squares what is left without overflow."""
_FINE = 5
_FINE_UPTO = 25
_FINE_FROM = 48
_LOBES = 16


def spectra(values: Array) -> tuple[Array, Array, Array]:
    """Power spectrum, autocorrelation at lags 0, 1, ..., and valid samples: (rows, samples) of any numbers.

    Values that are not finite are gaps and carry no weight. Single precision; the series is padded with zeros to
    `size(samples)`, so that no lag that is returned wraps around. Rows without any swing are all zero.
    """
    with np.errstate(over="ignore"):
        values = np.asarray(values).astype(np.float32)  # what does not fit becomes infinite, and a gap
    samples = values.shape[1]
    present = np.abs(values) < _UNREAL_W
    whole_rows = bool(present.all())
    if not whole_rows:
        values[~present] = 0.0
    number = present.sum(axis=1, dtype=np.float32)
    values -= (values.sum(axis=1) / np.maximum(number, np.float32(1.0)))[:, None]
    if not whole_rows:
        values[~present] = 0.0
    padded, last = size(samples), longest(samples) + 2
    power = _power(values, padded)
    pairs = np.arange(samples, samples - last, -1, dtype=np.float32)[None, :]
    if not whole_rows:
        counted = np.fft.irfft(_power(present.astype(np.float32), padded), padded, axis=1)[:, :last]
        pairs = np.maximum(np.rint(counted), np.float32(1.0))
    matched = np.fft.irfft(power, padded, axis=1)[:, :last] / pairs
    still = matched[:, 0] <= 0.01
    matched /= np.where(still, np.float32(1.0), matched[:, 0])[:, None]
    matched[still] = 0.0
    return power, matched, number


def longest(samples: int) -> int:
    """Longest lag looked at: half the series, 40 s at most."""
    return min(LONGEST_SLOTS, samples // 2)


def size(samples: int) -> int:
    """Length of the transform."""
    return 1 << int(samples + longest(samples) + 1).bit_length()


def between(alike: Array) -> tuple[Array, int, int]:
    """The likeness at lags up to 2.6 slots by fifths of a slot; how many to a slot, and slots covered.

    Waves of few samples peak between slots: read at whole slots alone, three periods pass for one. Source:
    band-limited (Lanczos) interpolation of the even function that an autocorrelation is.
    """
    weights = _weights(min(_FINE_FROM, alike.shape[1]))
    return np.asarray(alike[:, : weights.shape[0]] @ weights), _FINE, _FINE_UPTO


def _power(values: Array, padded: int) -> Array:
    spectrum = np.fft.rfft(values, padded, axis=1)
    return np.asarray(spectrum.real**2 + spectrum.imag**2)


@lru_cache(maxsize=4)
def _weights(slots: int) -> Array:
    lags = np.arange(_FINE_UPTO * _FINE + 2) / _FINE
    sources = np.arange(1 - slots, slots)
    away = lags[None, :] - sources[:, None]
    kernel = np.sinc(away) * np.where(np.abs(away) < _LOBES, np.sinc(away / _LOBES), 0.0)
    folded = np.zeros((slots, len(lags)))
    np.add.at(folded, np.abs(sources), kernel)
    return folded.astype(np.float32)
