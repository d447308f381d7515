"""The life of a service: tasks that may not die unseen, readiness that depends on data age, an orderly stop."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from easyrider import log
from easyrider.boundary import shielded

STOP_CALLBACKS_S = 8.0
_TASKS_S = 1.0


class Life:
    """What a service's `start` is handed: spawn, watch, flag, on_stop, until_stopped."""

    def __init__(self, name: str) -> None:
        self.stopping = asyncio.Event()
        self.failure: BaseException | None = None
        self.waiting = False  # `start` reached until_stopped and will unwind by itself
        self._log = log.get(name)
        self._tasks: dict[asyncio.Task[Any], str] = {}
        self._ages: dict[str, tuple[Callable[[], float | None], float]] = {}
        self._flags: dict[str, Callable[[], bool]] = {}
        self._callbacks: list[Callable[[], Awaitable[None] | None]] = []

    def spawn(self, name: str, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """A supervised task: if it fails, the failure is logged and ends the service with exit code 1."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks[task] = name
        task.add_done_callback(self._ended)
        return task

    def watch(self, name: str, age_s: Callable[[], float | None], stale_after_s: float) -> None:
        """Readiness: not ready while the age is None (nothing came yet) or above `stale_after_s`."""
        self._ages[name] = (age_s, stale_after_s)

    def flag(self, name: str, ok: Callable[[], bool]) -> None:
        """Readiness: not ready while `ok()` is false."""
        self._flags[name] = ok

    def on_stop(self, callback: Callable[[], Awaitable[None] | None]) -> None:
        """Called once when the stop begins, in order, before tasks end and connections close; 8 s for all."""
        self._callbacks.append(callback)

    def stop(self) -> None:
        """Begin the stop."""
        self.stopping.set()

    def fail(self, failure: BaseException) -> None:
        """Begin the stop because of a failure: the exit code will say so."""
        if self.failure is None:
            self.failure = failure
        self.stopping.set()

    async def until_stopped(self) -> None:
        """Wait for the stop, then run the callbacks and end the tasks; connections may close afterwards."""
        self.waiting = True
        await self.stopping.wait()
        try:
            async with asyncio.timeout(STOP_CALLBACKS_S):
                for callback in self._callbacks:
                    await shielded(callback, self._callback_failed)
        except TimeoutError as fault:
            self._log.error("stop took too long; going on without its end", deadline_s=STOP_CALLBACKS_S)
            self.failure = self.failure or fault
        await self.end_tasks()

    async def end_tasks(self) -> None:
        """Cancel what still runs and wait a moment for it."""
        running = [task for task in self._tasks if not task.done()]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=_TASKS_S)

    def readiness(self) -> tuple[bool, dict[str, Any]]:
        """Whether every flag holds and every watched age is known and fresh, with the reasons."""
        checks: dict[str, Any] = {name: {"ok": ok()} for name, ok in self._flags.items()}
        for name, (age_s, stale_after_s) in self._ages.items():
            age = age_s()
            known = age is not None and math.isfinite(age)
            checks[name] = {
                "ok": known and age is not None and age <= stale_after_s,
                "age_s": round(age, 3) if known and age is not None else None,
                "stale_after_s": stale_after_s,
            }
        checks["running"] = {"ok": self.waiting and not self.stopping.is_set()}
        return all(check["ok"] for check in checks.values()), checks

    def _ended(self, task: asyncio.Task[Any]) -> None:
        name = self._tasks.pop(task)
        if task.cancelled():
            return
        failure = task.exception()
        if failure is not None:
            self._log.error("a task failed; the service ends", task=name, exc_info=failure)
            self.fail(failure)

    def _callback_failed(self, fault: Exception) -> None:
        self._log.error("a stop callback failed; the stop goes on", exc_info=fault)
        if self.failure is None:
            self.failure = fault
