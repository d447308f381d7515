"""A board's power limits: its range, what was asked of it, what it enforces; and asking anew."""

from dataclasses import dataclass

import pynvml

from easyrider.devices.library import Board
from easyrider.devices.nvml_errors import NotSupported, nvml_errors
from easyrider.units import from_milli, milli


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitReading:
    """What one board says of its limits, in W. `enforced_w` is the truth: an outside cap may lower it."""

    min_w: float
    max_w: float
    default_w: float
    requested_w: float
    enforced_w: float
    settable: bool  # false: the board has no limit of its own to set; `requested_w` is then the enforced one


def read_limits(board: Board) -> LimitReading:
    """Range, requested and enforced limit as of now. Raises `NotSupported` for a board without limits."""
    with nvml_errors(board.uuid):
        min_mw, max_mw = pynvml.nvmlDeviceGetPowerManagementLimitConstraints(board.handle)
        default_mw = pynvml.nvmlDeviceGetPowerManagementDefaultLimit(board.handle)
        enforced_mw = pynvml.nvmlDeviceGetEnforcedPowerLimit(board.handle)
    requested_mw = _requested_mw(board)
    return LimitReading(
        min_w=from_milli(min_mw),
        max_w=from_milli(max_mw),
        default_w=from_milli(default_mw),
        requested_w=from_milli(enforced_mw if requested_mw is None else requested_mw),
        enforced_w=from_milli(enforced_mw),
        settable=requested_mw is not None,
    )


def _requested_mw(board: Board) -> int | None:
    try:
        with nvml_errors(board.uuid):
            return int(pynvml.nvmlDeviceGetPowerManagementLimit(board.handle))
    except NotSupported:
        return None


def read_range_w(board: Board) -> tuple[float, float]:
    """Lowest and highest limit that the board takes, as of now."""
    with nvml_errors(board.uuid):
        min_mw, max_mw = pynvml.nvmlDeviceGetPowerManagementLimitConstraints(board.handle)
    return from_milli(min_mw), from_milli(max_mw)


def set_limit(board: Board, limit_w: float) -> None:
    """Ask the board for a limit, in whole milliwatts. Raises `DeviceRefused`, `NoPermission`, ...

    The unversioned call: the binding of the `_v2` one drops NVML's return code. Read the enforced limit back.
    """
    limit_mw = milli(limit_w)
    with nvml_errors(board.uuid):
        pynvml.nvmlDeviceSetPowerManagementLimit(board.handle, limit_mw)
