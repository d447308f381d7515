"""The one place that stops every exception: the edge between our loop and a task or a handler."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any


async def shielded(call: Callable[[], Any | Awaitable[Any]], on_fault: Callable[[Exception], None]) -> None:
    """Run `call` to its end, sync or async; whatever it raises is handed to `on_fault` and goes no further."""
    try:
        result = call()
        if asyncio.iscoroutine(result) or asyncio.isfuture(result):
            await result
    except Exception as fault:  # noqa: BLE001 - told by on_fault, which logs and counts it
        on_fault(fault)
