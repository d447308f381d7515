"""How old a message is, without any clock agreeing with another.

Age = (arrival - source clock) - the smallest such difference seen for that boot in ten minutes. A bus that was
frozen for 6 s therefore shows messages 6 s old, whatever the time of day is on either side. The minutes are
those in which something was heard: after an hour of silence a backlog must not pass for fresh.
"""

import math
from collections import deque

_BUCKET_S = 60.0
_BUCKETS = 10
_BOOTS_KEPT = 2


class Ages:
    """Smallest differences per source and boot. Times in the receiver's monotonic seconds."""

    def __init__(self) -> None:
        self._floors: dict[str, dict[str, _Floor]] = {}

    def minted_s(self, source: str, boot_id: str, mono_ns: int, arrival_ns: int) -> float:
        """When the message was made, in the receiver's monotonic seconds; never after its arrival."""
        boots = self._floors.setdefault(source, {})
        floor = boots.pop(boot_id, None) or _Floor()
        while len(boots) >= _BOOTS_KEPT:
            del boots[next(iter(boots))]
        boots[boot_id] = floor  # last heard last: late words of an old boot cannot push out the present one
        difference_s = (arrival_ns - mono_ns) / 1e9
        arrival_s = arrival_ns / 1e9
        return arrival_s - max(0.0, difference_s - floor.with_new(difference_s, arrival_s))


class _Floor:
    """Minimum over ten buckets of a minute; the oldest falls out."""

    def __init__(self) -> None:
        self._buckets: deque[tuple[float, float]] = deque(maxlen=_BUCKETS)
        self._until_s = -math.inf  # when the newest bucket ends
        self._least_s = math.inf  # of all of them

    def with_new(self, difference_s: float, now_s: float) -> float:
        if now_s >= self._until_s:
            self._buckets.append((now_s, difference_s))
            self._until_s = now_s + _BUCKET_S
            self._least_s = min(low_s for _, low_s in self._buckets)
        elif difference_s < self._buckets[-1][1]:
            self._buckets[-1] = (self._buckets[-1][0], difference_s)
            self._least_s = min(self._least_s, difference_s)
        return self._least_s
