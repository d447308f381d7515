"""Real servers once a session, and waiting for what must become true."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator

import pytest

from easyrider.embedded import ServerProcess
from easyrider.testing.servers import nats_server, redis_server


@pytest.fixture(scope="session")
def nats() -> Iterator[ServerProcess]:
    with nats_server() as server:
        yield server


@pytest.fixture(scope="session")
def valkey() -> Iterator[ServerProcess]:
    with redis_server() as server:
        yield server


@pytest.fixture
def eventually() -> Callable[..., Awaitable[None]]:
    """Wait until a condition holds; fail with its name after a deadline."""

    async def wait(condition: Callable[[], object], deadline_s: float = 5.0) -> None:
        end_s = time.monotonic() + deadline_s
        while not condition():
            assert time.monotonic() < end_s, f"not within {deadline_s} s"
            await asyncio.sleep(0.005)

    return wait
