"""A short memory between a flood and a handler that lags: the newest messages of each subject, in order."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol


class Taker(Protocol):
    """Takes one raw message to its end."""

    async def on_message(self, raw: Any) -> None:
        """Handle it."""
        ...


class Backlog:
    """Keeps at most `keep` waiting messages a subject; the oldest is dropped first, and `on_drop` is called."""

    def __init__(self, keep: int, taker: Taker, on_drop: Callable[[], object]) -> None:
        self._keep, self._taker, self._on_drop = keep, taker, on_drop
        self._waiting: dict[str, deque[Any]] = {}
        self._order: deque[str] = deque()
        self._worker: asyncio.Task[None] | None = None

    async def on_message(self, raw: Any) -> None:
        """Put it in line; returns at once."""
        line = self._waiting.setdefault(raw.subject, deque())
        if len(line) == self._keep:
            line.popleft()  # its place in the order stays for the newer one
            self._on_drop()
        else:
            self._order.append(raw.subject)
        line.append(raw)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        while self._order:
            subject = self._order.popleft()
            line = self._waiting[subject]
            raw = line.popleft()
            if not line:
                del self._waiting[subject]
            await self._taker.on_message(raw)
