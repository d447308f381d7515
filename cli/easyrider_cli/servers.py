"""The two servers of a local stack, embedded, and the key that each service shows at the bus."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from easyrider.embedded import ServerProcess, nats_process, redis_process
from easyrider.nats_config import make_nkeys, nats_config, seed_file, site_users, user_names
from easyrider_cli.rundir import RunFolder


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers of one stack; `keys` holds a seed file for every user of the bus."""

    nats: ServerProcess
    redis: ServerProcess
    keys: Path

    @property
    def by_name(self) -> dict[str, ServerProcess]:
        """Both, as they are named to people."""
        return {server.name: server for server in (self.nats, self.redis)}

    def bus(self, user: str) -> dict[str, object]:
        """The bus settings of one user."""
        return {"nats_url": self.nats.url, "seed_file": seed_file(self.keys, user)}


@contextmanager
def servers_up(folder: RunFolder, region: str, nodes: list[str]) -> Iterator[Servers]:
    """Both servers on free loopback ports, every user allowed what its service needs and nothing else.

    Ended on the way out. Raises `ServerMissing` or `ServerNotStarted`.
    """
    keys, store_dir = folder.state("keys"), folder.state("nats")
    public = make_nkeys(keys, user_names(nodes))
    users = site_users(region, nodes, public)
    nats = nats_process(store_dir, config=lambda port: nats_config(users, port, store_dir / "jetstream"))
    running = Servers(nats, redis_process(folder.state("valkey")), keys)
    for name, server in running.by_name.items():
        server.log_file = folder.log(name)
    running.nats.start()
    try:
        running.redis.start()
        yield running
    finally:
        running.redis.stop()
        running.nats.stop()
