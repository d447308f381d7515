"""Real servers for tests: processes of ours on free ports, ended with the block."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from easyrider.embedded import ServerProcess, nats_process, redis_process


@contextmanager
def nats_server(config: Callable[[int], str] | None = None) -> Iterator[ServerProcess]:
    """A nats-server with JetStream; `config` gives its configuration for a port."""
    with tempfile.TemporaryDirectory(prefix="easyrider-nats-") as folder:
        with _running(nats_process(Path(folder), config=config)) as server:
            yield server


@contextmanager
def redis_server(options: tuple[str, ...] = ()) -> Iterator[ServerProcess]:
    """A Valkey or Redis server without persistence."""
    with tempfile.TemporaryDirectory(prefix="easyrider-redis-") as folder:
        with _running(redis_process(Path(folder), options=options)) as server:
            yield server


@contextmanager
def _running(server: ServerProcess) -> Iterator[ServerProcess]:
    server.start()
    try:
        yield server
    finally:
        server.stop()
