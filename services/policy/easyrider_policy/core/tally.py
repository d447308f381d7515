"""Sums of watts by what they belong to."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def tally(owner: Ints, watts: Floats, owners: int) -> Floats:
    """(owners,) sums of `watts` by `owner`."""
    return np.asarray(np.bincount(owner, weights=watts, minlength=owners), dtype=np.float64)
