"""The boards of this node as the guardian uses them: the port, and NVML behind it."""

from pathlib import Path
from typing import Protocol

from easyrider.devices import library, limits
from easyrider.devices.nvml_errors import (
    DeviceError,
    DeviceLost,
    DeviceRefused,
    DriverError,
    NoPermission,
    NotSupported,
)
from easyrider_guardian.core.records import Reading


class BoardPort(Protocol):
    """One board. Every call may block, and raises a `DeviceError` where the board or driver fails."""

    @property
    def uuid(self) -> str: ...

    def read(self) -> Reading: ...

    def write(self, limit_w: float) -> None: ...


class DriverPort(Protocol):
    """Every board of the node, by index, after `start`; `restart` voids the boards from before."""

    def start(self) -> int: ...

    def restart(self) -> int: ...

    def board(self, index: int) -> BoardPort: ...


def reason_of(fault: DeviceError) -> str:
    """The word for a fault in acks and records."""
    if isinstance(fault, DriverError):
        return "driver"
    words = (
        (DeviceLost, "lost"),
        (NoPermission, "no_permission"),
        (NotSupported, "not_supported"),
        (DeviceRefused, "device_refused"),
    )
    return next((word for kind, word in words if isinstance(fault, kind)), "device_fault")


class NvmlBoard:
    """One board behind NVML."""

    def __init__(self, board: library.Board) -> None:
        self._board = board
        self.uuid = board.uuid

    def read(self) -> Reading:
        """Range, requested and enforced limit as of now."""
        found = limits.read_limits(self._board)
        return Reading(
            min_w=found.min_w,
            max_w=found.max_w,
            default_w=found.default_w,
            requested_w=found.requested_w,
            enforced_w=found.enforced_w,
            settable=found.settable,
        )

    def write(self, limit_w: float) -> None:
        """Ask the board for a limit; only a read-back tells what came of it."""
        limits.set_limit(self._board, limit_w)


class NvmlDriver:
    """NVML of this process."""

    def __init__(self, path: Path | None) -> None:
        self._library = library.Library(path)

    def start(self) -> int:
        """The number of boards. Raises a `DriverError`."""
        self._library.start()
        return self._library.count()

    def restart(self) -> int:
        """The same, after shutting NVML down."""
        self._library.restart()
        return self._library.count()

    def board(self, index: int) -> NvmlBoard:
        """The board at `index`."""
        return NvmlBoard(self._library.board(index))
