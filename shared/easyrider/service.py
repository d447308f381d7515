"""A service that tells its health: `easyrider.process.run` with /live, /ready and /metrics."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from easyrider import metrics, process
from easyrider.errors import BadConfig
from easyrider.health import HealthDoor
from easyrider.life import Life

__all__ = ["Life", "run"]

C = TypeVar("C")


def run(
    name: str,
    config_type: type[C],
    prefix: str,
    start: process.Start[C],
    arguments: Sequence[str] | None = None,
) -> int:
    """Run until a signal or a failure; what it returns is the exit code.

    0 after a signal, 1 after a failure of any task, 2 for wrong settings (one message on stderr names all).
    The door listens on the settings `health_address` ("" for none) and writes what it bound to `health_file`.
    """
    return process.run(name, config_type, prefix, start, door=_door, arguments=arguments)


@asynccontextmanager
async def _door(config: Any, life: Life) -> AsyncIterator[str]:
    address = getattr(config, "health_address", "")
    if not address:
        yield ""
        return
    door = HealthDoor(life.readiness, metrics.text)
    try:
        await door.open(address, getattr(config, "health_file", None))
    except (OSError, ValueError) as fault:
        raise BadConfig("settings", [f"health_address {address} cannot be listened on: {fault}"]) from fault
    try:
        yield door.address
    finally:
        await door.close()
