"""Boards in memory, for virtual time."""

from easyrider.devices.nvml_errors import DeviceRefused
from easyrider_guardian.core.records import Reading


class FakeBoard:
    """One board; `writes` lists every limit it was asked for, refused ones included."""

    def __init__(self, uuid: str) -> None:
        self.uuid = uuid
        self.requested_w = 700.0
        self.writes: list[float] = []

    def read(self) -> Reading:
        return Reading(
            min_w=200, max_w=700, default_w=700, requested_w=self.requested_w, enforced_w=self.requested_w
        )

    def write(self, limit_w: float) -> None:
        self.writes.append(limit_w)
        if not 200 <= limit_w <= 700:
            raise DeviceRefused(self.uuid, 2)
        self.requested_w = limit_w


class FakeDriver:
    """Some boards."""

    def __init__(self, boards: int = 2) -> None:
        self.boards = [FakeBoard(f"GPU-{index}") for index in range(boards)]

    def start(self) -> int:
        return len(self.boards)

    def restart(self) -> int:
        return len(self.boards)

    def board(self, index: int) -> FakeBoard:
        return self.boards[index]
