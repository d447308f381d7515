"""What has not been said for long, found without passing over all that is said again and again."""

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heappop, heappush

_NEVER_S = -float("inf")
_AT_ONCE_S = float("inf")


@dataclass(slots=True, eq=False)
class Mark:
    """Of something that a node says again as long as it is so."""

    job: str
    node: str
    heard_s: float = _NEVER_S
    due_s: float | None = _AT_ONCE_S
    """When it was heard as far as whoever looks for it knows; above that: it is not looked for. None: it has ended."""


class Unsaid:
    """What is heard within `patience_s` is looked at once in as long.

    Times in the receiver's seconds at which a word was made: one that comes late makes what it says older again.
    """

    def __init__(self, patience_s: float) -> None:
        self._patience_s, self._serial = patience_s, 0
        self._due: list[
            tuple[float, int, Mark]
        ] = []  # those with another `due_s` than their mark are of no use
        self._overdue: dict[tuple[str, str], Mark] = {}

    def said(self, mark: Mark, heard_s: float) -> None:
        """It was said again, or for the first time."""
        mark.heard_s = heard_s
        if mark.due_s is not None and heard_s < mark.due_s:
            self._overdue.pop((mark.job, mark.node), None)
            self._wait(mark)

    def ended(self, mark: Mark) -> None:
        """Nobody waits for it any more."""
        mark.due_s = None
        self._overdue.pop((mark.job, mark.node), None)

    def of_talking(self, heard_s: Mapping[str, float], now_s: float, talks_s: float) -> list[Mark]:
        """What is unsaid for longer than `patience_s` by nodes of which something was heard within `talks_s`."""
        while self._due and now_s - self._due[0][0] > self._patience_s:
            due_s, _, mark = heappop(self._due)
            if mark.due_s != due_s:
                continue
            if now_s - mark.heard_s > self._patience_s:
                mark.due_s = _AT_ONCE_S
                self._overdue[mark.job, mark.node] = mark
            else:
                self._wait(mark)
        overdue = self._overdue.values()
        return [mark for mark in overdue if now_s - heard_s.get(mark.node, _NEVER_S) < talks_s]

    def _wait(self, mark: Mark) -> None:
        mark.due_s = mark.heard_s
        self._serial += 1
        heappush(self._due, (mark.heard_s, self._serial, mark))
