"""Mean and highest of the last ten seconds, kept in buckets of one."""

from collections import deque
from dataclasses import dataclass, field

BUCKETS = 10
_BUCKET_S = 1.0


@dataclass
class TenSeconds:
    """One board's last 10 s of mean power and of peaks."""

    _buckets: deque[tuple[int, float, int, float]] = field(default_factory=deque)
    _second: int = -1
    _sum_w: float = 0.0
    _count: int = 0
    _highest_w: float = 0.0

    def add(self, now_s: float, mean_w: float | None, power_w: float | None) -> None:
        """One look: the 100 ms mean and the instant reading, None where invalid."""
        second = int(now_s / _BUCKET_S)
        if second != self._second:
            self._close(second)
        if mean_w is not None:
            self._sum_w += mean_w
            self._count += 1
            self._highest_w = max(self._highest_w, mean_w)
        if power_w is not None:
            self._highest_w = max(self._highest_w, power_w)

    def read(self, now_s: float) -> tuple[float, float] | None:
        """(mean, highest) in W over the last 10 s; None where no mean is known."""
        oldest = int(now_s / _BUCKET_S) - BUCKETS
        kept = [bucket for bucket in self._buckets if bucket[0] > oldest]
        count = self._count + sum(bucket[2] for bucket in kept)
        if not count:
            return None
        total_w = self._sum_w + sum(bucket[1] for bucket in kept)
        return total_w / count, max([self._highest_w, *(bucket[3] for bucket in kept)])

    def _close(self, second: int) -> None:
        if self._second >= 0:
            self._buckets.append((self._second, self._sum_w, self._count, self._highest_w))
        while self._buckets and self._buckets[0][0] <= second - BUCKETS:
            self._buckets.popleft()
        self._second, self._sum_w, self._count, self._highest_w = second, 0.0, 0, 0.0
