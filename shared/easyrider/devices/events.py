"""XID errors: what the driver reports when something went wrong on a board."""

import contextlib
import ctypes
from collections.abc import Iterable
from typing import NamedTuple

import pynvml

from easyrider.devices.library import Board
from easyrider.devices.nvml_errors import DeviceError, nvml_errors


class Xid(NamedTuple):
    """One critical error of one board; NVIDIA's table says what `code` means (79: fell off the bus)."""

    uuid: str
    code: int


class XidEvents:
    """The driver's queue of critical errors of some boards. Raises a `DeviceError` where there is none."""

    def __init__(self, boards: Iterable[Board]) -> None:
        self._uuids: dict[int | None, str] = {}
        with nvml_errors("driver"):
            self._set = pynvml.nvmlEventSetCreate()
        for board in boards:
            with contextlib.suppress(DeviceError):  # a board without events is read all the same
                with nvml_errors(board.uuid):
                    pynvml.nvmlDeviceRegisterEvents(
                        board.handle, pynvml.nvmlEventTypeXidCriticalError, self._set
                    )
                self._uuids[_address(board.handle)] = board.uuid

    def take(self) -> list[Xid]:
        """Everything that waits, without waiting: a wait of the driver would keep a thread for ever.

        Raises a `DeviceError` when the driver has gone.
        """
        found: list[Xid] = []
        while len(found) < 64:
            try:
                with nvml_errors("driver"):
                    event = pynvml.nvmlEventSetWait_v2(self._set, 0)
            except DeviceError as fault:
                if fault.code == pynvml.NVML_ERROR_TIMEOUT:
                    return found
                raise
            uuid = self._uuids.get(_address(event.device), "unknown")
            found.append(Xid(uuid, int(event.eventData)))
        return found

    def close(self) -> None:
        """The queue given back."""
        with contextlib.suppress(DeviceError), nvml_errors("driver"):
            pynvml.nvmlEventSetFree(self._set)


def _address(handle: object) -> int | None:
    return ctypes.cast(handle, ctypes.c_void_p).value  # type: ignore[arg-type]
