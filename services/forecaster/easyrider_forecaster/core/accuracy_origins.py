"""Which windows are judged: when each begins, where what was said of it is kept, and when it has passed.

Windows of 10 s begin every other second, those of 30 s every sixth, and not in the same second: the ones between would
tell the same again, and cost as much. Where forecasts are said less often than that, each begins one.
"""

from dataclasses import dataclass, field

from easyrider_forecaster.core.arrays import HORIZONS_S

_EVERY_S = (1, 1, 1, 2, 6)
_DEPTHS = tuple(horizon_s // every_s + 1 for horizon_s, every_s in zip(HORIZONS_S, _EVERY_S, strict=True))
_STARTS = tuple(sum(_DEPTHS[:column]) for column in range(len(_DEPTHS)))
SLOTS = sum(_DEPTHS)
_LONG_AGO = -(10**9)


@dataclass(frozen=True, slots=True)
class Place:
    """One window: its horizon, the block at whose end it begins, and the slot of what was said then."""

    column: int
    origin: int
    slot: int


@dataclass(slots=True)
class Origins:
    """Windows that are open, a horizon's by the block that they begin after."""

    _open: tuple[dict[int, Place], ...] = field(default_factory=lambda: tuple({} for _ in HORIZONS_S))
    _begun: list[int] = field(default_factory=lambda: [0] * len(HORIZONS_S))
    _last: list[int] = field(default_factory=lambda: [_LONG_AGO] * len(HORIZONS_S))

    def begin(self, block: int) -> list[Place]:
        """Windows that begin where `block` ends, because something is said then."""
        places: list[Place] = []
        for column, every_s in enumerate(_EVERY_S):
            waited_s = block - self._last[column]
            crowded = len(places) == len(HORIZONS_S) - 1 and waited_s == every_s
            if waited_s < every_s or crowded:
                continue
            place = Place(column, block, _STARTS[column] + self._begun[column] % _DEPTHS[column])
            self._open[column][block] = place
            self._begun[column] += 1
            self._last[column] = block
            places.append(place)
        return places

    def due(self, block: int) -> list[Place]:
        """Windows that end with `block`, shortest first; they are open no longer, nor is what was passed over."""
        places: list[Place] = []
        for column, horizon_s in enumerate(HORIZONS_S):
            opened = self._open[column]
            for origin in [origin for origin in opened if origin <= block - horizon_s]:
                place = opened.pop(origin)
                if origin == block - horizon_s:
                    places.append(place)
        return places
