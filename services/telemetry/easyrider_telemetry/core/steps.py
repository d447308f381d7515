"""How many steps a paced counter made between two looks, from when it can have stepped at all."""

from easyrider_telemetry.core.pace import Pace

_SLACK_S = 0.0003
"""Between the driver's look at the counter and our look at the clock."""
_SLACK_SHARE = 0.2
"""The slack never grows above this share of the period: a counter that shaky is not paced."""
_BASE_STEPS = 20
_LONG_BASE_STEPS = 2000


class StepCount:
    """Keeps the interval in which the newest step must have happened, and sharpens the period with time.

    Each look narrows it: a counter that rests has not reached its next step, one that moved has passed one.
    """

    def __init__(self, pace: Pace) -> None:
        self.period_s = pace.period_s
        self._error_s = max(pace.period_error_s, 1e-6 * pace.period_s)
        self._slack_s = min(_SLACK_S, _SLACK_SHARE * pace.period_s)
        self._low_s = pace.step_s - pace.step_error_s
        self._high_s = pace.step_s + pace.step_error_s
        self._last_look_s: float | None = None
        self._steps = 0
        self._base: tuple[int, float, float] | None = None  # steps, time, half width

    def rested(self, look_s: float) -> None:
        """The counter shows what it showed: its next step lies after this look."""
        self._low_s = max(self._low_s, look_s - self.period_s - self._slack_s)
        self._last_look_s = look_s
        self._settle()

    def choices(self, look_s: float) -> tuple[int, int]:
        """Fewest and most steps since the newest known one, given that the counter moved."""
        fewest = max(1, int((look_s - self._high_s) / self.period_s))
        most = max(fewest, int((look_s + self._slack_s - self._low_s) / self.period_s))
        return fewest, most

    def likely(self, look_s: float) -> float:
        """Steps since the newest known one by the middle of what is known; the whole part counts."""
        return (look_s - (self._low_s + self._high_s) / 2) / self.period_s

    def moved(self, look_s: float, steps: int) -> None:
        """The counter moved by so many steps, seen at this look."""
        since_s, drift_s = steps * self.period_s, steps * self._error_s
        self._low_s += since_s - drift_s
        self._high_s += since_s + drift_s
        self._steps += steps
        self._high_s = min(self._high_s, look_s + self._slack_s)
        self._low_s = max(self._low_s, look_s - self.period_s - self._slack_s)
        if self._last_look_s is not None:
            self._low_s = max(self._low_s, self._last_look_s + (steps - 1) * self.period_s - self._slack_s)
        self._last_look_s = look_s
        self._settle()
        self._sharpen()

    def advance(self, look_s: float) -> None:
        """Time went by unobserved: the newest step is carried on to this look by the period alone."""
        middle_s = (self._low_s + self._high_s) / 2
        steps = int((look_s - middle_s) / self.period_s)
        if steps * self._error_s > self.period_s / 4:
            self.lost(look_s)
            return
        self._last_look_s = None
        if steps > 0:
            self.moved(look_s, steps)

    def lost(self, look_s: float) -> None:
        """Nothing is known any more of when it stepped, but not longer ago than one period."""
        self._low_s, self._high_s = look_s - self.period_s, look_s
        self._last_look_s, self._base = None, None

    def _settle(self) -> None:
        if self._low_s <= self._high_s:
            self._slack_s = max(_SLACK_S, self._slack_s * 0.999)
            return
        # The looks contradict each other: the counter is less regular than thought, so allow for more.
        self._slack_s = min(self._slack_s * 1.5, _SLACK_SHARE * self.period_s)
        middle_s = (self._low_s + self._high_s) / 2
        half_s = (self._low_s - self._high_s) / 2 + self._slack_s
        self._low_s, self._high_s = middle_s - half_s, middle_s + half_s

    def _sharpen(self) -> None:
        middle_s, half_s = (self._low_s + self._high_s) / 2, (self._high_s - self._low_s) / 2
        if self._base is None:
            self._base = (self._steps, middle_s, half_s)
            return
        steps, base_s, base_half_s = self._base
        count = self._steps - steps
        if count < _BASE_STEPS:
            return
        period_s, error_s = (middle_s - base_s) / count, (half_s + base_half_s) / count
        if abs(period_s - self.period_s) > 3 * (
            self._error_s + error_s
        ):  # a step was miscounted: begin again
            self._base = (self._steps, middle_s, half_s)
            return
        if error_s < self._error_s:
            self.period_s, self._error_s = period_s, max(error_s, 1e-6 * period_s)
        if count >= _LONG_BASE_STEPS:
            self._base = (self._steps, middle_s, half_s)
