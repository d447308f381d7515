"""Opening NVML, and one board after the other: by index here, by UUID everywhere else."""

import contextlib
import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pynvml

from easyrider.devices.nvml_errors import LibraryMissing, NotStarted, nvml_errors


@dataclass(frozen=True, slots=True)
class Board:
    """One physical GPU of this node. `index` changes between boots, `uuid` does not; `handle` is NVML's."""

    index: int
    uuid: str
    handle: Any


class Library:
    """NVML of this process: `start`, count, `board` by index, `restart` after a driver fault, `stop`.

    Every call may block for as long as the driver likes: make them from a thread that may be lost.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._started = False

    @property
    def looked_for(self) -> str:
        """The name of the library that is loaded."""
        return "libnvidia-ml.so.1" if self._path is None else str(self._path)

    def start(self) -> None:
        """NVML initialised. Raises `LibraryMissing`, `DriverNotLoaded` or another `DriverError`."""
        if self._path is not None:
            try:
                # The binding asks the linker for this soname; one that is loaded already is taken.
                ctypes.CDLL(str(self._path), mode=ctypes.RTLD_GLOBAL)
            except OSError as fault:
                raise LibraryMissing(self.looked_for) from fault
        with nvml_errors("driver"):
            pynvml.nvmlInit()
        self._started = True

    def stop(self) -> None:
        """NVML shut down. Does nothing where it was not started."""
        if not self._started:
            return
        self._started = False
        with nvml_errors("driver"):
            pynvml.nvmlShutdown()

    def restart(self) -> None:
        """NVML anew, as after a driver reload: every handle from before is void."""
        with contextlib.suppress(NotStarted):  # the driver forgot us first
            self.stop()
        self.start()

    def count(self) -> int:
        """Boards that the driver lists, lost ones included where it still lists them."""
        with nvml_errors("driver"):
            return int(pynvml.nvmlDeviceGetCount())

    def board(self, index: int) -> Board:
        """The board at `index`. Raises `DeviceLost` and its kin."""
        with nvml_errors(f"index {index}"):
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            return Board(index, str(pynvml.nvmlDeviceGetUUID(handle)), handle)
