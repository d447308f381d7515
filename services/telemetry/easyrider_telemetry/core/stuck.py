"""A power sensor that repeats itself while the board tells another story."""

from dataclasses import dataclass

_FLAT_S = 10.0
_CLIMB_C = 5
_DISAGREES_SHARE, _DISAGREES_W = 0.2, 15.0


@dataclass
class StuckWatch:
    """Judges the power field of one board by its energy counter and its temperature.

    Flat alone is no fault: an idle board is flat. Flat to the last milliwatt for 10 s while the counter's mean
    lies 20 % elsewhere, or while the board warms by 5 degC, is one.
    """

    _power_w: float = -1.0
    _since_s: float = 0.0
    _temperature_c: int | None = None
    _mean_sum_w: float = 0.0
    _means: int = 0
    stuck: bool = False

    def look(
        self, now_s: float, power_w: float, counter_mean_w: float | None, temperature_c: int | None
    ) -> bool:
        """True while the field is stuck. `counter_mean_w` only from a counter, never integrated from the field."""
        if power_w != self._power_w:
            self._power_w, self._since_s, self._temperature_c = power_w, now_s, temperature_c
            self._mean_sum_w, self._means, self.stuck = 0.0, 0, False
            return False
        if counter_mean_w is not None:
            self._mean_sum_w += counter_mean_w
            self._means += 1
        if self._temperature_c is None:
            self._temperature_c = temperature_c
        if not self.stuck and now_s - self._since_s >= _FLAT_S:
            self.stuck = self._counter_disagrees() or self._warms(temperature_c)
        return self.stuck

    def _counter_disagrees(self) -> bool:
        if not self._means:
            return False
        mean_w = self._mean_sum_w / self._means
        return abs(mean_w - self._power_w) > max(_DISAGREES_W, _DISAGREES_SHARE * max(mean_w, self._power_w))

    def _warms(self, temperature_c: int | None) -> bool:
        if temperature_c is None or self._temperature_c is None:
            return False
        return temperature_c - self._temperature_c >= _CLIMB_C
