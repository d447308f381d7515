"""Whether counter and power field of a board tell the same story over a minute."""

_MINUTE_S = 60
_APART_SHARE, _APART_W = 0.2, 5.0


class Agreement:
    """Compares two sources of one board's power minute by minute; `apart` is the last minute's verdict."""

    def __init__(self) -> None:
        self.apart = False
        self.counter_w: float | None = None
        self.field_w: float | None = None
        self._counter_sum_w, self._field_sum_w, self._seconds = 0.0, 0.0, 0

    def second(self, counter_w: float, field_w: float) -> None:
        """Both sources' means of one second in which both were valid."""
        self._counter_sum_w += counter_w
        self._field_sum_w += field_w
        self._seconds += 1
        if self._seconds < _MINUTE_S:
            return
        self.counter_w, self.field_w = self._counter_sum_w / self._seconds, self._field_sum_w / self._seconds
        apart_w = abs(self.counter_w - self.field_w)
        self.apart = apart_w > max(_APART_W, _APART_SHARE * max(self.counter_w, self.field_w))
        self._counter_sum_w, self._field_sum_w, self._seconds = 0.0, 0.0, 0
