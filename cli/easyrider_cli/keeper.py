"""A stack kept up: what died is started again, as a service manager would, and told in one line."""

import time
from collections.abc import Callable
from pathlib import Path

from easyrider.errors import EasyRiderError
from easyrider_cli.process import last_lines
from easyrider_cli.stack import Stack

PAUSE_S = 1.0
MOST, WITHIN_S = 5, 60.0
"""A process that dies more often than this is not started again."""


class NotKeptUp(EasyRiderError):
    """The stack could not be kept up; everything of it was stopped."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}; everything was stopped")


class Keeper:
    """Looks after the processes of a stack. `say` is told each start; `now_s` is a monotonic clock."""

    def __init__(
        self, stack: Stack, say: Callable[[str], None], now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._stack, self._say, self._now_s = stack, say, now_s
        self._due_s: dict[str, float] = {}
        self._starts_s: dict[str, list[float]] = {}
        self._folder = _identity(stack.folder.root)

    def look(self) -> None:
        """Start again what has been dead for a second.

        Raises `NotKeptUp` for a twin that died, a process that dies again and again, a run folder that is gone.
        """
        if _identity(self._stack.folder.root) != self._folder:
            raise NotKeptUp(f"the run folder {self._stack.folder.root} was deleted")
        now_s = self._now_s()
        for name in self._stack.dead():
            if name == "twin":
                raise NotKeptUp(f"{self._stack.last_of(name)}: without its hardware a stack is none")
            if name not in self._due_s:
                self._refuse_more(name, now_s)
                self._due_s[name] = now_s + PAUSE_S
            elif now_s >= self._due_s[name]:
                self._start_again(name, now_s)

    def _refuse_more(self, name: str, now_s: float) -> None:
        recent = [at_s for at_s in self._starts_s.get(name, []) if now_s - at_s < WITHIN_S]
        self._starts_s[name] = recent
        if len(recent) >= MOST:
            words = last_lines(self._stack.folder.log(name), 1)
            raise NotKeptUp(
                f"{self._stack.last_of(name)} after {MOST} starts in {WITHIN_S:.0f} s; its log ends: {words}"
            )

    def _start_again(self, name: str, now_s: float) -> None:
        last = self._stack.last_of(name)
        pid = self._stack.again(name)
        del self._due_s[name]
        self._starts_s[name].append(now_s)
        self._say(f"{last}; started again as pid {pid}")


def _identity(root: Path) -> int | None:
    """Tells a folder from a later one of the same name; None where there is none."""
    try:
        return root.stat().st_ino
    except FileNotFoundError:
        return None
