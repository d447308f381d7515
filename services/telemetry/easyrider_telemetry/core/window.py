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
        _, sum_w, means, highest_w = now
        for number, second_sum_w, second_means, second_highest_w in self._seconds:
            if number > now.number - _BUCKETS:
                sum_w += second_sum_w
                means += second_means
                if second_highest_w > highest_w:
                    highest_w = second_highest_w
        return (sum_w / means, highest_w) if means else None
