"""A timer that one thread puts off each time it gets on, and that wakes the event loop only where it did not.

A timer of the loop would have to be put off by the loop: a wake at every tick. The kernel's may be put off by anybody.
"""

import contextlib
import ctypes
import os
from collections.abc import Callable
from functools import partial

_CLOCK_MONOTONIC = 1
_NS = 1_000_000_000


class _Spec(ctypes.Structure):
    """struct itimerspec of 64-bit Linux: never again, and how long from now."""

    _fields_ = tuple((name, ctypes.c_long) for name in ("again_s", "again_ns", "s", "ns"))


class OverdueTimer:
    """`put_off` from any thread; the descriptor is readable once `after_s` went by without it."""

    def __init__(self, after_s: float, again_s: float) -> None:
        library = ctypes.PyDLL(
            None, use_errno=True
        )  # keeps the interpreter: the call takes less than letting go
        self._file: int = library.timerfd_create(_CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._file < 0:
            raise OSError(ctypes.get_errno(), "no timer to watch the boards by")
        self._specs = [_Spec(0, 0, *divmod(round(s * _NS), _NS)) for s in (after_s, again_s)]
        self.put_off: Callable[[], int]
        self._look_again: Callable[[], int]
        self.put_off, self._look_again = (
            partial(library.timerfd_settime, self._file, 0, ctypes.byref(spec), None) for spec in self._specs
        )

    def fileno(self) -> int:
        """To be watched by an event loop."""
        return self._file

    def went_off(self) -> None:
        """Take note, and go off again soon unless it is put off meanwhile."""
        with contextlib.suppress(BlockingIOError):  # put off in this very moment
            os.read(self._file, 8)
        self._look_again()
