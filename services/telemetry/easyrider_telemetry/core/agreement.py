"""Whether counter and power field of a board tell the same story over a minute."""

from dataclasses import dataclass

_MINUTE_S = 60.0
_APART_SHARE, _APART_W = 0.2, 5.0


@dataclass
class Agreement:
    """Compares two sources of one board's power minute by minute; `apart` holds the last minute's verdict."""

    apart: bool = False
    counter_w: float | None = None
    field_w: float | None = None
    _since_s: float | None = None
    _counter_sum_w: float = 0.0
    _field_sum_w: float = 0.0
    _looks: int = 0

    def look(self, now_s: float, counter_w: float, field_w: float) -> bool:
        """Feed both sources of one look; True when a minute has just ended and a new verdict stands."""
        if self._since_s is None:
            self._since_s = now_s
        self._counter_sum_w += counter_w
        self._field_sum_w += field_w
        self._looks += 1
        if now_s - self._since_s < _MINUTE_S:
            return False
        self.counter_w, self.field_w = self._counter_sum_w / self._looks, self._field_sum_w / self._looks
        apart_w = abs(self.counter_w - self.field_w)
        self.apart = apart_w > max(_APART_W, _APART_SHARE * max(self.counter_w, self.field_w))
        self._since_s, self._counter_sum_w, self._field_sum_w, self._looks = now_s, 0.0, 0.0, 0
        return True
