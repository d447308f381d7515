"""Highest samples of the windows that everything else asks for."""

import numpy as np

from easyrider_forecaster.core.arrays import Array
from easyrider_forecaster.core.history import BLOCKS

_LAST = (0, 1, 4, 9, 29, 59)


def tops(block: int, block_top: Array, out: Array) -> None:
    """Maxima over the last 1, 2, 5, 10, 30, 60 blocks, (rows, 6), written."""
    for row in range(len(out)):
        top, column = -np.inf, 0
        for back in range(60):
            top = max(top, block_top[row, (block - back) % BLOCKS])
            if back == _LAST[column]:
                out[row, column] = top
                column += 1
