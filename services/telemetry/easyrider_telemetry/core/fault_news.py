"""When a fault that stays, changes or ends is worth a line: once per change, not more often than bearable."""

EVERY_S = 5.0


class FaultNews:
    """The fault told last. A change that comes too soon after the last line is told later, if it still stands."""

    def __init__(self) -> None:
        self._told: str | None = None
        self._told_s: float | None = None

    def due(self, fault: str | None, now_s: float) -> bool:
        """Whether to say now that this is the fault, None being that there is none; it then counts as told."""
        if fault == self._told or (self._told_s is not None and now_s - self._told_s < EVERY_S):
            return False
        self._told, self._told_s = fault, now_s
        return True
