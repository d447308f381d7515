"""A power sensor that repeats itself while the board tells another story."""

_FLAT_NS = 10_000_000_000
_CLIMB_C = 5
_DISAGREES_SHARE, _DISAGREES_W = 0.2, 15.0


class StuckWatch:
    """Judges the power field of one board, second by second, by its energy counter and its temperature.

    Flat alone is no fault: an idle board is flat. Flat to the last milliwatt for 10 s while the counter's mean
    lies 20 % elsewhere, or while the board warms by 5 degC, is one.
    """

    def __init__(self) -> None:
        self._since_ns = 0
        self._temperature_c: int | None = None
        self._sum_w, self._seconds = 0.0, 0

    def second(
        self, now_ns: int, since_ns: int, power_w: float, counter_w: float | None, temperature_c: int | None
    ) -> bool:
        """True if the field, at `power_w` since `since_ns`, is stuck. `counter_w`: this second's mean by counter."""
        if since_ns != self._since_ns:
            self._since_ns, self._temperature_c = since_ns, temperature_c
            self._sum_w, self._seconds = 0.0, 0
        if self._temperature_c is None:
            self._temperature_c = temperature_c
        if counter_w is not None:
            self._sum_w += counter_w
            self._seconds += 1
        if now_ns - since_ns < _FLAT_NS:
            return False
        return self._counter_disagrees(power_w) or self._warms(temperature_c)

    def _counter_disagrees(self, power_w: float) -> bool:
        if not self._seconds:
            return False
        mean_w = self._sum_w / self._seconds
        return abs(mean_w - power_w) > max(_DISAGREES_W, _DISAGREES_SHARE * max(mean_w, power_w))

    def _warms(self, temperature_c: int | None) -> bool:
        if temperature_c is None or self._temperature_c is None:
            return False
        return temperature_c - self._temperature_c >= _CLIMB_C
