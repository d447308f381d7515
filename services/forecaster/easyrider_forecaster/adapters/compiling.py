"""Compiled steps made ready before they are needed; the compiler is loaded by that alone.

The compiling itself is done by another process of low priority: what a compiler leaves behind (60 MB) ends with it, and
no tick waits for the interpreter that it holds. Here the machine code is read, in a third of a second.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from easyrider_forecaster.core.bank import Bank
from easyrider_forecaster.core.kernels import Kernels

_SECONDS = 45
"""Until every step was called once: the bound of 30 s is judged after 31."""
_NICE = 15
_LONGEST_S = 300.0


def ready() -> Kernels:
    """Steps that are compiled; by this process where no other could. Raises `ImportError` without the compiler."""
    from easyrider_forecaster.adapters import compiled  # 90 MB; not loaded below some hundred series

    try:
        folder = tempfile.TemporaryDirectory(prefix="easyrider-steps-")
    except OSError:  # nowhere to write
        return _warm(compiled.Compiled())
    with folder as place:
        command = [sys.executable, "-m", __name__, place]
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):  # what is not there is compiled here
            subprocess.run(command, capture_output=True, timeout=_LONGEST_S, check=False)
        return _from(Path(place))


def _from(place: Path) -> Kernels:
    from easyrider_forecaster.adapters import compiled

    kernels = compiled.Compiled(compiled.kept_in(place))
    _warm(kernels)
    kernels.keep_no_more()
    return kernels


def _warm(kernels: Kernels) -> Kernels:
    bank = Bank(np.full(2, 700.0), 75.0, kernels=kernels)
    slots = np.arange(10 * _SECONDS)
    power_w = np.where(slots % 20 < 14, 600.0, 250.0)
    for first in range(0, len(slots), 10):
        bank.observe(np.tile(power_w[first : first + 10], (2, 1)))
        bank.tick()
    return kernels


if __name__ == "__main__":
    os.nice(_NICE)
    _from(Path(sys.argv[1]))
