"""The two servers of a local stack, embedded, and what each service shows at their doors."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from easyrider.embedded import ServerProcess, nats_process, redis_process
from easyrider_cli.rundir import RunFolder


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers of one stack, and the seed file of each service."""

    nats: ServerProcess
    redis: ServerProcess
    seeds: dict[str, Path]

    def bus(self, service: str) -> dict[str, object]:
        """The bus settings of one service."""
        settings: dict[str, object] = {"nats_url": self.nats.url}
        if service in self.seeds:
            settings["seed_file"] = self.seeds[service]
        return settings


@contextmanager
def servers_up(folder: RunFolder) -> Iterator[Servers]:
    """Both servers running on free loopback ports, ended on the way out. Raises `ServerNotStarted`."""
    running = Servers(nats_process(folder.state("nats")), redis_process(folder.state("valkey")), {})
    running.nats.start()
    try:
        running.redis.start()
        yield running
    finally:
        running.redis.stop()
        running.nats.stop()
