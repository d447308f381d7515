"""One process of lowest priority that fits parameters; the loop never waits for it and never loads its library."""

import asyncio
import multiprocessing
import multiprocessing.connection
import os
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from easyrider_forecaster.core.fits import FitRequest, FitResult

_NICE = 15


class FitPool:
    """At most one batch at a time; a killed process is replaced at the next batch."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self.busy = False

    async def fit(self, requests: list[FitRequest]) -> list[FitResult]:
        """Results in the order of the requests. Raises `BrokenProcessPool` where the process died meanwhile."""
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, mp_context=context, initializer=begin)
        self.busy = True
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, fit_there, requests)
        except BrokenProcessPool:
            self.close()
            raise
        finally:
            self.busy = False

    def close(self) -> None:
        """End the process without waiting for a batch in progress."""
        if self._pool is not None:
            for process in list((self._pool._processes or {}).values()):
                process.kill()
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


def begin() -> None:
    """What the process does first: it steps back behind everybody, and leaves out what fits do not need."""
    os.nice(_NICE)
    sys.modules.setdefault("pyarrow", None)  # type: ignore[arg-type]  # pandas takes it where it is there: 26 MB
    threading.Thread(target=_end_with_the_forecaster, daemon=True).start()


def _end_with_the_forecaster() -> None:
    """A killed forecaster closes nothing: its worker, which holds both ends of its own pipe, would wait for ever."""
    forecaster = multiprocessing.parent_process()
    assert forecaster is not None
    multiprocessing.connection.wait([forecaster.sentinel])
    os._exit(1)


def fit_there(requests: list[FitRequest]) -> list[FitResult]:
    """One batch in this process."""
    from easyrider_forecaster.adapters import ets  # heavy; loaded in the child alone

    return [ets.fit(request) for request in requests]
