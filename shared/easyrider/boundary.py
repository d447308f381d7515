"""The one place that stops every exception: the edge between our loop and a task, a handler, a word or foreign code."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")


async def shielded(call: Callable[[], Any | Awaitable[Any]], on_fault: Callable[[Exception], None]) -> None:
    """Run `call` to its end, sync or async; whatever it raises is handed to `on_fault` and goes no further."""
    try:
        result = call()
        if asyncio.iscoroutine(result) or asyncio.isfuture(result):
            await result
    except Exception as fault:  # noqa: BLE001 - told by on_fault, which logs and counts it
        on_fault(fault)


def stopped(call: Callable[[], T], on_fault: Callable[[Exception], T]) -> T:
    """What `call` returns; where it raises, what `on_fault` makes of that: one of many, which must not end the rest."""
    try:
        return call()
    except Exception as fault:  # noqa: BLE001 - told by on_fault, which logs and counts it
        return on_fault(fault)


def foreign(call: Callable[[], T], on_fault: Callable[[BaseException], T]) -> T:
    """The same where `call` runs code that is not ours: exceptions of its own, an exit and a cancellation stop here.

    Nothing but a person's interrupt goes through: a plug-in that ends itself must not end what keeps the limits.
    """
    try:
        return call()
    except KeyboardInterrupt:
        raise
    except BaseException as fault:  # noqa: BLE001 - told by on_fault, which names it
        return on_fault(fault)
