"""A thread that makes one blocking call at a time, so that a call that never returns costs nobody else."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TypeVar

from easyrider_guardian.adapters.clocks import boot_ns

T = TypeVar("T")
STUCK_AFTER_NS = 500_000_000


class Worker:
    """Runs calls in order on a daemon thread; a process that ends does not wait for it."""

    def __init__(self, name: str) -> None:
        self.failure: BaseException | None = None  # a call raised what no caller may expect
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._busy_since_ns: int | None = None
        threading.Thread(target=self._run, name=name, daemon=True).start()

    @property
    def busy(self) -> bool:
        """A call is running or waits to run."""
        return self._busy_since_ns is not None or not self._calls.empty()

    @property
    def stuck(self) -> bool:
        """The running call takes so long that nothing more may be queued behind it."""
        since_ns = self._busy_since_ns
        return since_ns is not None and boot_ns() - since_ns > STUCK_AFTER_NS

    def submit(self, call: Callable[[], T]) -> "Future[T]":
        """The future of `call`; cancel it to keep it from starting."""
        future: Future[T] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = call()
            except BaseException as fault:  # noqa: BLE001 - raised again by whoever owns this worker
                self.failure = fault
                future.set_exception(fault)
            else:
                future.set_result(result)

        self._calls.put(run)
        return future

    def _run(self) -> None:
        while True:
            call = self._calls.get()
            self._busy_since_ns = boot_ns()
            call()
            self._busy_since_ns = None
