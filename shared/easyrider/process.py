"""The body of every `__main__`: help, settings, log, loop, signals, exit code. Opens no port by itself.

`easyrider.service.run` is this with a health door; the guardian, which has no network, uses it as it is.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, TypeVar

from easyrider import __version__, log
from easyrider.config import describe, from_env
from easyrider.errors import BadConfig, EasyRiderError
from easyrider.life import Life
from easyrider.watchdog import Watchdog

C = TypeVar("C")
Start = Callable[[C, Life], Coroutine[Any, Any, None]]
Door = Callable[[Any, Life], AbstractAsyncContextManager[str]]
"""Opens what tells the outside of the service's health; gives the address. Raises `BadConfig`."""
FAILED, WRONG_SETTINGS, STUCK = 1, 2, 70
_STOP_S = 9.5
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


def run(
    name: str,
    config_type: type[C],
    prefix: str,
    start: Start[C],
    *,
    door: Door | None = None,
    arguments: Sequence[str] | None = None,
) -> int:
    """Run a service until a signal or a failure; what it returns is the exit code.

    0 after a signal, 1 after a failure of any task, 2 for wrong settings (one message on stderr names all).
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words in (["--help"], ["-h"]):
        print(f"{name}\n\nSettings come from the environment.\n\n{describe(config_type, prefix)}")
        return 0
    if words == ["--version"]:
        from importlib.metadata import version  # heavy, and rarely asked

        print(f"{name} {version('easyrider')}")
        return 0
    try:
        if words:
            raise BadConfig(
                "arguments", [f"{word!r} is not understood (--help, --version)" for word in words]
            )
        config = from_env(config_type, os.environ, prefix)
    except BadConfig as fault:
        print(f"{name}: {log.blot(str(fault))}", file=sys.stderr)
        return WRONG_SETTINGS
    log.configure(name, getattr(config, "log_level", "info"), getattr(config, "log_format", "json"))
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(_live(name, config, start, door))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # not on every platform; asyncio's own loop does the same, slower
        return None
    return uvloop.new_event_loop


async def _live(name: str, config: Any, start: Start[Any], door: Door | None) -> int:
    logger, life, systemd = log.get(name), Life(name), Watchdog(os.environ)
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, life.stop)
    async with AsyncExitStack() as doors:
        try:
            address = "" if door is None else await doors.enter_async_context(door(config, life))
        except BadConfig as fault:
            print(f"{name}: {fault}", file=sys.stderr)
            return WRONG_SETTINGS
        logger.info("starting", version=__version__, health=address, pid=os.getpid())
        if systemd.watches:
            life.on_stop(systemd.stopping)
            life.spawn("watchdog", systemd.follow(lambda: life.waiting))
        code = await _until_done(name, life, loop.create_task(start(config, life), name=f"{name} start"))
    logger.info("stopped", exit_code=code)
    return code


async def _until_done(name: str, life: Life, main: asyncio.Task[None]) -> int:
    logger = log.get(name)
    stop = asyncio.create_task(life.stopping.wait(), name="stop")
    await asyncio.wait({main, stop}, return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    if not main.done() and not life.waiting:
        main.cancel()  # still opening connections: nothing to unwind in order
    if not main.done():
        await asyncio.wait({main}, timeout=_STOP_S)
    if not main.done():
        main.cancel()
        await asyncio.wait({main}, timeout=1.0)
    if not main.done():
        logger.error("cannot be stopped; leaving the hard way")
        sys.stderr.flush()
        os._exit(STUCK)
    await life.end_tasks()
    return _verdict(name, life, main)


def _verdict(name: str, life: Life, main: asyncio.Task[None]) -> int:
    failure = life.failure if main.cancelled() else (main.exception() or life.failure)
    if main.cancelled() and not life.stopping.is_set():
        log.get(name).error("the service was cancelled from inside")
        return FAILED
    if isinstance(failure, BadConfig):
        print(f"{name}: {log.blot(str(failure))}", file=sys.stderr)
        return WRONG_SETTINGS
    if isinstance(failure, EasyRiderError) and not main.cancelled() and main.exception() is failure:
        # Named after what happened: its text says what to do, and where it came from is no news.
        print(f"{name}: {log.blot(str(failure))}", file=sys.stderr)
        return FAILED
    if failure is not None:
        if not main.cancelled() and main.exception() is failure:
            log.get(name).error("the service failed", exc_info=failure)
        return FAILED
    return 0
