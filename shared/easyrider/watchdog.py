"""What systemd is told of a service: that it is up, that its loop turns, that it ends. Without systemd, nothing.

The protocol of sd_notify(3): one datagram each to the socket that NOTIFY_SOCKET names. A service that says nothing
for WATCHDOG_USEC is restarted, so that a loop that is stuck does not stay so.
"""

import asyncio
import math
import os
import socket
import time
from collections.abc import Callable, Mapping

from easyrider import log

_LONGEST_S, _LOOK_S = 5.0, 0.1


class Watchdog:
    """Who watches over this process, as its environment names it."""

    def __init__(self, environ: Mapping[str, str], pid: int | None = None) -> None:
        named = environ.get("NOTIFY_SOCKET", "")
        self._address = f"\0{named[1:]}" if named.startswith("@") else named
        self.period_s = (
            _LONGEST_S if not named else min(_LONGEST_S, _watched_s(environ, pid or os.getpid()) / 2)
        )
        self._turned_s: float | None = None
        self._log = log.get("watchdog")

    @property
    def watches(self) -> bool:
        """Whether anybody listens."""
        return bool(self._address)

    def ready(self) -> None:
        """Everything is opened and introduced: who waits for this service may start."""
        self._say(f"READY=1\nMAINPID={os.getpid()}")

    def turn(self) -> None:
        """The loop came by; told at most once in `period_s`."""
        now_s = time.monotonic()
        if self._turned_s is None or now_s - self._turned_s >= self.period_s:
            self._turned_s = now_s
            self._say("WATCHDOG=1")

    def stopping(self) -> None:
        """It ends by its own will."""
        self._say("STOPPING=1")

    async def follow(self, is_open: Callable[[], bool]) -> None:
        """Tell of an event loop, from that very loop, until cancelled; ready as soon as `is_open()`.

        Until then it asks for more time again and again: the bus may come late, and only a loop that turns can ask.
        """
        asked_s = -math.inf
        while not is_open():
            if time.monotonic() - asked_s >= _LONGEST_S:
                asked_s = time.monotonic()
                self._say(f"EXTEND_TIMEOUT_USEC={round(3 * _LONGEST_S * 1e6)}")
            await asyncio.sleep(_LOOK_S)
        self.ready()
        while True:
            self.turn()
            await asyncio.sleep(self.period_s)

    def _say(self, what: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
                line.setblocking(False)  # a watcher that is stuck may not stop the one it watches
                line.connect(self._address)
                line.send(what.encode())
        except OSError as fault:
            log.bounded(self._log, "unheard", 60).warning("systemd does not hear", fault=str(fault))


def _watched_s(environ: Mapping[str, str], pid: int) -> float:
    """How long it may say nothing; without end where nobody counts, or another process is meant."""
    if environ.get("WATCHDOG_PID", str(pid)) != str(pid):
        return 2 * _LONGEST_S
    try:
        return max(int(environ["WATCHDOG_USEC"]), 1) / 1e6
    except (KeyError, ValueError):
        return 2 * _LONGEST_S
