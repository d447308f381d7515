"""When a node's samples were taken, in the receiver's clock and on the common grid of slots."""

from collections import deque

import numpy as np

from easyrider_forecaster.core.arrays import SLOT_S, Array

_BUCKET_S = 300.0
_LONGEST_LAG_S = 1.5
_SAID = 100
_LOOK_S = 5.0
_LOOKS = 4
_STEPPED_S, _STEADY_S = 1.0, 0.05
"""A clock that stood still (a suspended host) is late by the same all the time; a queue breathes."""


class NodeClock:
    """One boot of one node: age = (arrival - source time) - the smallest such difference of 5-10 minutes.

    A bus that froze for 6 s therefore shows samples 6 s old, and they still fall into their own slots. Where the
    difference has grown by over 1 s and stays the same for 20 s, the node's clock was stepped: age counts anew.
    """

    def __init__(self, boot_id: str) -> None:
        self.boot_id = boot_id
        self.spacing_s = SLOT_S
        self.lag_s = 0.0
        self.steps = 0
        self._newest_s = -np.inf
        self._said: deque[float] = deque(maxlen=_SAID)
        self._least_s, self._older_least_s = np.inf, np.inf
        self._bucket_ends_s = -np.inf
        self._look_least_s, self._look_sum_s, self._heard = np.inf, 0.0, 0
        self._look_ends_s = -np.inf
        self._looks: deque[float] = deque(maxlen=_LOOKS)
        self._phase_s: float | None = None
        self._last_s: float | None = None

    def received(self, mono_s: float, arrival_s: float, oldest_before_s: float = 0.0) -> None:
        """Learn from one message: source time `mono_s`, arrival, age of its oldest row when it was sent."""
        difference_s = arrival_s - mono_s
        if arrival_s >= self._bucket_ends_s:
            self._older_least_s = self._least_s
            self._least_s, self._bucket_ends_s = difference_s, arrival_s + _BUCKET_S
        self._least_s = min(self._least_s, difference_s)
        self._watch(difference_s, arrival_s)
        lag_s = min(arrival_s - self.at(mono_s) + oldest_before_s, _LONGEST_LAG_S)
        self.lag_s = max(lag_s, self.lag_s + 0.02 * (lag_s - self.lag_s))

    def overtaken(self, mono_s: float) -> bool:
        """Whether a newer frame than one of `mono_s` was there before: that one is late, or said twice."""
        late = mono_s <= self._newest_s
        self._newest_s = max(self._newest_s, mono_s)
        return late

    def said(self, mono_s: float) -> bool:
        """Whether a frame of that very time was taken among the last hundred; remembers that it is now."""
        again = mono_s in self._said
        self._said.append(mono_s)
        return again

    def at(self, mono_s: float) -> float:
        """Source time in the receiver's clock."""
        return mono_s + float(min(self._least_s, self._older_least_s))

    def place(self, times_s: Array) -> Array:
        """Slots in which samples taken at `times_s` (receiver's clock, rising) end; int64, same shape.

        Slots follow the node's own beat, so that jitter of a sample at a slot's edge makes no gap.
        """
        if len(times_s) == 0:
            return np.empty(0, np.int64)
        if self._phase_s is None:
            self._phase_s = float(times_s[0] - np.rint(times_s[0] / SLOT_S) * SLOT_S)
        ends = (times_s - self._phase_s) / SLOT_S
        slots = np.rint(ends)
        self._phase_s += 0.05 * SLOT_S * float((ends - slots).mean())
        self._learn_spacing(times_s)
        return (slots - 1).astype(np.int64)

    def span(self) -> int:
        """Slots that one sample speaks for: more than 1 where the node samples slower than 10 Hz."""
        return int(np.clip(round(self.spacing_s / SLOT_S), 1, 10))

    def _watch(self, difference_s: float, arrival_s: float) -> None:
        if arrival_s >= self._look_ends_s:
            if self._heard:
                breath_s = self._look_sum_s / self._heard - self._look_least_s
                self._looks.append(self._look_least_s if breath_s < _STEADY_S else np.nan)
            self._look_least_s, self._look_sum_s, self._heard = np.inf, 0.0, 0
            self._look_ends_s = arrival_s + _LOOK_S
        self._look_least_s = min(self._look_least_s, difference_s)
        self._look_sum_s, self._heard = self._look_sum_s + difference_s, self._heard + 1
        if len(self._looks) < _LOOKS or np.isnan(self._looks).any():
            return
        least_s, most_s = min(self._looks), max(self._looks)
        late_s = least_s - min(self._least_s, self._older_least_s)
        if late_s > _STEPPED_S and most_s - least_s < _STEADY_S:
            self.steps += 1
            self._least_s, self._older_least_s = least_s, np.inf
            self._newest_s, self._phase_s, self._last_s = -np.inf, None, None
            self._looks.clear()

    def _learn_spacing(self, times_s: Array) -> None:
        follows = self._last_s is not None and times_s[0] > self._last_s
        before = np.array([self._last_s]) if follows else times_s[:1]
        steps_s = np.diff(np.concatenate((before, times_s)))
        self._last_s = max(float(times_s[-1]), self._last_s if self._last_s is not None else -np.inf)
        for step_s in steps_s[(steps_s > 0.5 * SLOT_S) & (steps_s < 1.5)]:
            self.spacing_s += 0.1 * (float(step_s) - self.spacing_s)
