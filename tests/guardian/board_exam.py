"""What every set of boards must do; taken by the fake in this folder's tests and by NVML on the simulated library.

Run as a program it examines NVML: the library is found through the environment.
"""

from easyrider.devices.nvml_errors import DeviceRefused
from easyrider_guardian.adapters.boards import BoardPort, DriverPort


def examine(driver: DriverPort) -> None:
    """Two boards at least, of 200 to 700 W, without a limit set yet."""
    assert driver.start() >= 2
    first, second = driver.board(0), driver.board(1)
    assert first.uuid != second.uuid

    found = first.read()
    assert (found.min_w, found.max_w, found.default_w, found.settable) == (200, 700, 700, True)
    assert (found.requested_w, found.enforced_w) == (700, 700)

    first.write(412.345)
    assert (first.read().requested_w, first.read().enforced_w) == (412.345, 412.345)
    assert second.read().requested_w == 700, "a write is for one board alone"

    for outside_w in (199.999, 700.001, 0.0):
        assert refused_by(first, outside_w) == first.uuid, f"{outside_w} W was taken"
    assert first.read().requested_w == 412.345

    assert driver.restart() >= 2
    assert driver.board(0).uuid == first.uuid
    assert driver.board(0).read().requested_w == 412.345, "a limit outlives whoever set it"


def refused_by(board: BoardPort, limit_w: float) -> str | None:
    """The board named in the refusal; None if the limit was taken."""
    try:
        board.write(limit_w)
    except DeviceRefused as fault:
        return fault.gpu
    return None


if __name__ == "__main__":
    from easyrider_guardian.adapters.boards import NvmlDriver

    examine(NvmlDriver(None))
    print("passed")
