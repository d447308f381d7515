"""How old a message is, without any clock agreeing with another.

Age = (arrival - source clock) - the smallest such difference seen for that boot in ten minutes. A bus that was
frozen for 6 s therefore shows messages 6 s old, whatever the time of day is on either side. The minutes are
those in which something was heard: after an hour of silence a backlog must not pass for fresh.

No word of a boot is made later than it comes, so a difference far below the smallest one is a clock that jumped or
a stamp that is wrong. One wrong stamp would make all that follows look old, and what it shows newer than any answer:
such a word is left aside, until nothing else was heard of its boot for a while.
"""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.fleet import Bools, Floats, Ints

_BUCKET_S = 60.0
_BUCKETS = 10
_BOOTS_KEPT = 2
_FIRST = 64
AHEAD_S = 5.0
"""A clock is not believed that runs so much further ahead than the boot's did."""
HELD_S = 2.0
"""Unless all that is heard of the boot says so for as long: then its clock or ours jumped, and goes on."""
LONGEST_NS = 10**18
"""No host is up for longer, 30 years: the only bound for a boot of which nothing was heard."""


class Ages:
    """Smallest differences per source and boot. Times in the receiver's monotonic seconds.

    Each boot of a source has a slot: whoever takes the words of many sources together looks theirs up once.
    """

    def __init__(self) -> None:
        self.forgotten = 0
        """Grows whenever a boot loses its slot to another: slots that were looked up before may be another's."""
        self._slots: dict[str, dict[str, int]] = {}
        self._free: list[int] = []
        self._buckets: list[deque[tuple[float, float]]] = []
        self._until_s = np.full(_FIRST, -np.inf)  # when the newest bucket ends
        self._newest_s = np.full(_FIRST, np.inf)  # least of the newest bucket
        self._least_s = np.full(_FIRST, np.inf)  # of all of them
        self._heard_s = np.full(_FIRST, -np.inf)
        self._ahead: dict[int, tuple[float, float]] = {}
        """By slot, of a clock that is not believed yet: when it was first heard, and its difference then."""

    def ahead(self, source: str, boot_id: str, mono_ns: int, arrival_ns: int) -> bool:
        """Whether a word's clock runs further ahead than is believed: then it is left aside. Ask before `minted_s`."""
        if mono_ns > LONGEST_NS:
            return True
        slot = self._slots.get(source, {}).get(boot_id)
        if slot is None:
            return False
        arrival_s, difference_s = arrival_ns / 1e9, (arrival_ns - mono_ns) / 1e9
        least_s = float(self._least_s[slot])
        if least_s == np.inf or difference_s >= least_s - AHEAD_S:
            self._ahead.pop(slot, None)
            return False
        since_s, before_s = self._ahead.get(slot, (arrival_s, difference_s))
        if abs(difference_s - before_s) > AHEAD_S:
            since_s, before_s = arrival_s, difference_s
        self._ahead[slot] = since_s, before_s
        return arrival_s - since_s < HELD_S

    def all_ahead(self, slots: Ints, mono_ns: Ints, arrival_ns: Ints) -> Bools:
        """(F,) words of several sources, each once, that have to be asked for one by one: the others are not ahead."""
        difference_s = (arrival_ns - mono_ns) / 1e9
        least_s = self._least_s[slots]
        unsure: Bools = (difference_s < least_s - AHEAD_S) & (least_s < np.inf) | (mono_ns > LONGEST_NS)
        if self._ahead:
            for slot in slots[~unsure].tolist():
                self._ahead.pop(slot, None)
        return unsure

    def minted_s(self, source: str, boot_id: str, mono_ns: int, arrival_ns: int) -> float:
        """When the message was made, in the receiver's monotonic seconds; never after its arrival."""
        slot = self.slot(source, boot_id)
        difference_s = (arrival_ns - mono_ns) / 1e9
        arrival_s = arrival_ns / 1e9
        self._heard_s[slot] = arrival_s
        if arrival_s >= self._until_s[slot] or difference_s < self._newest_s[slot]:
            self._take(slot, difference_s, arrival_s)
        return float(arrival_s - max(0.0, difference_s - self._least_s[slot]))

    def all_minted_s(self, slots: Ints, mono_ns: Ints, arrival_ns: Ints) -> Floats:
        """The same of several sources, each once, by their slots."""
        difference_s = (arrival_ns - mono_ns) / 1e9
        arrival_s = arrival_ns / 1e9
        self._heard_s[slots] = arrival_s
        news = (arrival_s >= self._until_s[slots]) | (difference_s < self._newest_s[slots])
        for at in np.flatnonzero(news).tolist():
            self._take(int(slots[at]), float(difference_s[at]), float(arrival_s[at]))
        return np.asarray(arrival_s - np.maximum(0.0, difference_s - self._least_s[slots]), dtype=np.float64)

    def slot(self, source: str, boot_id: str) -> int:
        """Where this boot's differences are kept; of a source's boots the least recently heard is forgotten."""
        boots = self._slots.setdefault(source, {})
        slot = boots.get(boot_id)
        if slot is None:
            while len(boots) >= _BOOTS_KEPT:
                oldest = min(boots, key=lambda boot: self._heard_s[boots[boot]])
                self._free.append(boots.pop(oldest))
                self.forgotten += 1
            slot = boots[boot_id] = self._fresh()
        return slot

    def _fresh(self) -> int:
        if self._free:
            slot = self._free.pop()
            self._buckets[slot].clear()
            self._ahead.pop(slot, None)
        else:
            slot = len(self._buckets)
            self._buckets.append(deque(maxlen=_BUCKETS))
            if slot == len(self._until_s):
                self._until_s, self._heard_s = _doubled(self._until_s), _doubled(self._heard_s)
                self._newest_s, self._least_s = _doubled(self._newest_s), _doubled(self._least_s)
        self._until_s[slot] = self._heard_s[slot] = -np.inf
        self._newest_s[slot] = self._least_s[slot] = np.inf
        return slot

    def _take(self, slot: int, difference_s: float, now_s: float) -> None:
        """Minimum over ten buckets of a minute; the oldest falls out."""
        buckets = self._buckets[slot]
        if now_s >= self._until_s[slot]:
            buckets.append((now_s, difference_s))
            self._until_s[slot] = now_s + _BUCKET_S
            self._least_s[slot] = min(low_s for _, low_s in buckets)
        else:
            buckets[-1] = (buckets[-1][0], difference_s)
            self._least_s[slot] = min(self._least_s[slot], difference_s)
        self._newest_s[slot] = difference_s


def _doubled(column: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate([column, np.empty_like(column)])
