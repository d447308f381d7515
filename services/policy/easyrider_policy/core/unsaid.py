"""What has not been said for long, found without passing over all that is said again and again."""

from collections.abc import Mapping
from heapq import heappop, heappush

Said = tuple[str, str]
"""A job, and the node that says it."""


class Unsaid:
    """When each was heard last; those heard within `patience_s` are looked at once in as long.

    Times in the receiver's seconds at which a word was made: one that comes late makes what it says older again.
    """

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._heard_s: dict[Said, float] = {}
        self._due: list[
            tuple[float, Said]
        ] = []  # when it was heard, as far as was known: looked at from then on
        self._due_s: dict[Said, float] = {}  # of the entry that counts; others are of no one any more
        self._overdue: dict[Said, None] = {}

    def said(self, what: Said, heard_s: float) -> None:
        """It was said again."""
        self._heard_s[what] = heard_s
        self._overdue.pop(what, None)
        before_s = self._due_s.get(what)
        if before_s is None or heard_s < before_s:
            self._wait(what, heard_s)

    def ended(self, what: Said) -> None:
        """Nobody waits for it any more."""
        del self._heard_s[what]
        self._due_s.pop(what, None)
        self._overdue.pop(what, None)

    def of_talking(self, heard_s: Mapping[str, float], now_s: float, talks_s: float) -> list[Said]:
        """What is unsaid for longer than `patience_s` by nodes of which something was heard within `talks_s`."""
        while self._due and now_s - self._due[0][0] > self._patience_s:
            due_s, what = heappop(self._due)
            if self._due_s.get(what) != due_s:
                continue
            if now_s - self._heard_s[what] > self._patience_s:
                del self._due_s[what]
                self._overdue[what] = None
            else:
                self._wait(what, self._heard_s[what])
        never_s = -float("inf")
        return [what for what in self._overdue if now_s - heard_s.get(what[1], never_s) < talks_s]

    def _wait(self, what: Said, since_s: float) -> None:
        self._due_s[what] = since_s
        heappush(self._due, (since_s, what))
