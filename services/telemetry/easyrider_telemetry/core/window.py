"""Mean and highest of the last ten seconds, kept in buckets of one."""

from collections import deque
from typing import NamedTuple

_BUCKETS = 10


class Second(NamedTuple):
    """What one second held: its number, sum and number of means, and the highest reading of any kind."""

    number: int
    sum_w: float
    means: int
    highest_w: float


class TenSeconds:
    """One board's last 10 s of mean power and of peaks."""

    def __init__(self) -> None:
        self._seconds: deque[Second] = deque(maxlen=_BUCKETS)

    def add(self, second: Second) -> None:
        """A second that is over."""
        self._seconds.append(second)

    def read(self, now: Second) -> tuple[float, float] | None:
        """(mean, highest) in W of the last 10 s, the present one included as far as it got; None without a mean."""
        kept = [now, *(second for second in self._seconds if second.number > now.number - _BUCKETS)]
        means = sum(second.means for second in kept)
        if not means:
            return None
        return sum(second.sum_w for second in kept) / means, max(second.highest_w for second in kept)
