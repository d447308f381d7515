"""How often somebody may ask: a bucket of tokens per name, filled as time goes by."""

from collections import OrderedDict
from dataclasses import dataclass

MOST_NAMES = 10_000
"""Names remembered; the one unseen for longest is forgotten first, and its bucket is full again."""


@dataclass(slots=True)
class _Bucket:
    level: float
    at_s: float


class Buckets:
    """One bucket a name: `burst` at once, `per_s` from then on. Handed the time."""

    def __init__(self, per_s: float, burst: float) -> None:
        self.per_s, self.burst = per_s, burst
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, name: str, now_s: float) -> float | None:
        """None: one was taken. Else nothing was, and there is one again in so many seconds."""
        bucket = self._filled(name, now_s)
        if bucket.level < 1.0:
            return (1.0 - bucket.level) / self.per_s
        bucket.level -= 1.0
        return None

    def wait_s(self, name: str, now_s: float) -> float | None:
        """As `take`, without taking."""
        bucket = self._filled(name, now_s)
        return None if bucket.level >= 1.0 else (1.0 - bucket.level) / self.per_s

    def _filled(self, name: str, now_s: float) -> _Bucket:
        bucket = self._buckets.get(name)
        if bucket is None:
            bucket = self._buckets[name] = _Bucket(self.burst, now_s)
            if len(self._buckets) > MOST_NAMES:
                self._buckets.popitem(last=False)
        else:
            self._buckets.move_to_end(name)
            bucket.level = min(self.burst, bucket.level + max(0.0, now_s - bucket.at_s) * self.per_s)
            bucket.at_s = max(now_s, bucket.at_s)
        return bucket
