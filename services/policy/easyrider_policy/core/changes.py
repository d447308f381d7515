"""What begins and ends in a set of standing troubles, so that each is said once and a flicker is not."""

from collections.abc import Iterable
from typing import NamedTuple

CALM_S = 10.0
"""A trouble that is gone for so long has ended."""


class Changes(NamedTuple):
    """Names that stand since this look, and names that ended with it."""

    begun: tuple[str, ...]
    ended: tuple[str, ...]


class Standing:
    """Troubles by name; each begins at once and ends after a while without it."""

    def __init__(self, calm_s: float = CALM_S) -> None:
        self._calm_s = calm_s
        self._seen_s: dict[str, float] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Those that have begun and not ended."""
        return tuple(self._seen_s)

    def moved(self, names: Iterable[str], now_s: float) -> Changes:
        """What changed with what stands now."""
        present = set(names)
        begun = sorted(present - self._seen_s.keys())
        self._seen_s.update(dict.fromkeys(present, now_s))
        ended = sorted(name for name, seen_s in self._seen_s.items() if now_s - seen_s > self._calm_s)
        for name in ended:
            del self._seen_s[name]
        return Changes(tuple(begun), tuple(ended))
