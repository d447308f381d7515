"""XID errors: what the driver reports when something went wrong on a board."""

import contextlib
import ctypes
from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

import pynvml

from easyrider.devices.library import Board
from easyrider.devices.nvml_errors import DeviceError, named, nvml_errors


class Xid(NamedTuple):
    """One critical error of one board; NVIDIA's table says what `code` means (79: fell off the bus)."""

    uuid: str
    code: int


class XidEvents:
    """The driver's queue of critical errors of some boards. Raises a `DeviceError` where there is none."""

    def __init__(self, boards: Iterable[Board]) -> None:
        self._uuids: dict[int | None, str] = {}
        with nvml_errors("driver"):
            wait = pynvml._nvmlGetFunctionPointer("nvmlEventSetWait_v2")
            self._set = pynvml.nvmlEventSetCreate()
        self._event = pynvml.c_nvmlEventData_t()
        # the binding answers "nothing" by an exception, each second
        self._ask = partial(wait, self._set, ctypes.byref(self._event), 0)
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
            code = self._ask()
            if code == pynvml.NVML_ERROR_TIMEOUT:
                break
            if code:
                raise named("driver", code)
            uuid = self._uuids.get(_address(self._event.device), "unknown")
            found.append(Xid(uuid, int(self._event.eventData)))
        return found

    def close(self) -> None:
        """The queue given back."""
        with contextlib.suppress(DeviceError), nvml_errors("driver"):
            pynvml.nvmlEventSetFree(self._set)


def _address(handle: object) -> int | None:
    return ctypes.cast(handle, ctypes.c_void_p).value  # type: ignore[arg-type]
