"""How long an echo is waited for: not long of a server that is silent, longer of one that has much else to say."""

from collections.abc import Callable

SILENT_S = 5.0
BUSY_S = 60.0
"""A fleet that speaks to a service which is just starting keeps its echo waiting behind all that was said before."""


class Patience:
    """With one echo; `heard` counts what has come from the server. Times are monotonic seconds."""

    def __init__(self, heard: Callable[[], int]) -> None:
        self._heard, self._count = heard, -1
        self._began_s = self._heard_s = 0.0

    def ends(self, now_s: float) -> bool:
        """Whether it is over."""
        if self._count < 0:
            self._began_s = now_s
        if (count := self._heard()) != self._count:
            self._count, self._heard_s = count, now_s
        return now_s - self._heard_s >= SILENT_S or now_s - self._began_s >= BUSY_S
