"""Who a board is: names that survive a reboot, its range, and the partitions that are the same board."""

from dataclasses import dataclass

import pynvml

from easyrider.devices.library import Board, Library
from easyrider.devices.limits import read_range_w
from easyrider.devices.nvml_errors import DeviceError, DriverError, nvml_errors


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """One physical board. `instances` are the UUIDs of its partitions: they draw from the same limit."""

    uuid: str
    name: str
    pci_bus_id: str
    max_w: float | None  # nil: the board tells no range
    instances: tuple[str, ...]


def boards(library: Library) -> tuple[list[Board], list[DeviceError]]:
    """Every board that answers, by index, and one error for each that is listed and does not answer.

    Partitions are no boards: NVML lists physical ones. Raises `DriverError` where the driver is at fault.
    """
    found: list[Board] = []
    absent: list[DeviceError] = []
    for index in range(library.count()):
        try:
            found.append(library.board(index))
        except DriverError:
            raise
        except DeviceError as fault:
            absent.append(fault)
    return found, absent


def identify(board: Board) -> Identity:
    """Names and range of one board. Raises a `DeviceError` where it does not answer."""
    with nvml_errors(board.uuid):
        name = str(pynvml.nvmlDeviceGetName(board.handle))
    try:
        with nvml_errors(board.uuid):
            pci = pynvml.nvmlDeviceGetPciInfo(board.handle).busId
    except DeviceError:
        pci = ""
    try:
        max_w: float | None = read_range_w(board)[1]
    except DeviceError:
        max_w = None
    return Identity(
        uuid=board.uuid,
        name=name,
        pci_bus_id=pci.decode() if isinstance(pci, bytes) else str(pci),
        max_w=max_w or None,
        instances=_instances(board),
    )


def _instances(board: Board) -> tuple[str, ...]:
    try:
        with nvml_errors(board.uuid):
            if pynvml.nvmlDeviceGetMigMode(board.handle)[0] != pynvml.NVML_DEVICE_MIG_ENABLE:
                return ()
            slots = int(pynvml.nvmlDeviceGetMaxMigDeviceCount(board.handle))
    except DeviceError:  # most boards have no partitions
        return ()
    found = []
    for slot in range(slots):
        try:
            with nvml_errors(board.uuid):
                instance = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(board.handle, slot)
                found.append(str(pynvml.nvmlDeviceGetUUID(instance)))
        except DeviceError:  # an empty slot
            continue
    return tuple(found)
