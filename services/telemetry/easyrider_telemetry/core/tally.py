"""One board's looks gathered by the second, for everything that need not be judged ten times as often."""

from easyrider_telemetry.core.agreement import Agreement
from easyrider_telemetry.core.stuck import StuckWatch
from easyrider_telemetry.core.window import Second, TenSeconds

_SECOND_NS = 1_000_000_000


class Tally:
    """Sums of the present second; once it is over they go to the 10 s window and to the two judges of the sensor."""

    def __init__(self) -> None:
        self.agreement = Agreement()
        self.is_stuck = False
        self.temperature_c: int | None = None
        self._window, self._stuck = TenSeconds(), StuckWatch()
        self._flat_w, self._flat_ns = -1.0, 0
        self._second = -1
        self._sum_w, self._count, self._highest_w = 0.0, 0, 0.0
        self._counted_w, self._field_w, self._both = 0.0, 0.0, 0

    def add(self, mono_ns: int, mean_w: float | None, power_w: float | None, is_counted: bool) -> bool:
        """Whether the sensor is stuck, after one more look.

        Mean and power field are None where invalid; `is_counted`: the mean comes from a counter.
        """
        second = mono_ns // _SECOND_NS
        if second != self._second:
            self._close(mono_ns)
            self._second = second
        if power_w is not None:
            if power_w != self._flat_w:
                self._flat_w, self._flat_ns, self.is_stuck = power_w, mono_ns, False
            if power_w > self._highest_w and not self.is_stuck:
                self._highest_w = power_w
            if mean_w is not None and is_counted:
                self._counted_w += mean_w
                self._field_w += power_w
                self._both += 1
        if mean_w is not None:
            self._sum_w += mean_w
            self._count += 1
            if mean_w > self._highest_w:
                self._highest_w = mean_w
        return self.is_stuck

    def ten_seconds(self, now_ns: int) -> tuple[float, float] | None:
        """(mean, highest) in W of the last 10 s; None where no mean is known."""
        second = now_ns // _SECOND_NS
        if second != self._second:
            self._close(now_ns)
            self._second = second
        return self._window.read(Second(second, self._sum_w, self._count, self._highest_w))

    def _close(self, now_ns: int) -> None:
        if self._second >= 0:
            self._window.add(Second(self._second, self._sum_w, self._count, self._highest_w))
            counter_w = self._counted_w / self._both if self._both else None
            if counter_w is not None:
                self.agreement.second(counter_w, self._field_w / self._both)
            if self._flat_ns <= self._second * _SECOND_NS:  # flat all through this second
                self.is_stuck = self.is_stuck or self._stuck.second(
                    now_ns, self._flat_ns, self._flat_w, counter_w, self.temperature_c
                )
        self._sum_w, self._count, self._highest_w = 0.0, 0, 0.0
        self._counted_w, self._field_w, self._both = 0.0, 0.0, 0
