"""The two servers of a local stack, embedded, and what each service shows them: its key, its password."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from easyrider import store_acl
from easyrider.embedded import ServerProcess, nats_process, redis_process
from easyrider.nats_config import make_nkeys, nats_config, seed_file
from easyrider.permissions import Place, User
from easyrider.secret_files import write_secret
from easyrider_cli.rundir import RunFolder

OPEN = "INSECURE: bus and store ask for no key; every program of this machine may command the nodes, none outside it"
"""What people are told where no keys are asked for."""


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers of one stack; `keys` holds a seed and a password for every user, None: anybody is let in."""

    nats: ServerProcess
    redis: ServerProcess
    keys: Path | None

    @property
    def by_name(self) -> dict[str, ServerProcess]:
        """Both, as they are named to people."""
        return {server.name: server for server in (self.nats, self.redis)}

    def seed(self, user: str) -> Path | None:
        """The key that a user of the bus shows."""
        return None if self.keys is None else seed_file(self.keys, user)

    def bus(self, user: str) -> dict[str, object]:
        """The bus settings of one user."""
        seed = {} if self.keys is None else {"seed_file": self.seed(user)}
        return {"nats_url": self.nats.url, **seed}

    def store(self, user: str) -> dict[str, object]:
        """The store settings of one user."""
        if self.keys is None:
            return {"redis_url": self.redis.url}
        shown = store_acl.login(self.keys, user)
        return {
            "redis_url": self.redis.url,
            "redis_user": shown.user,
            "redis_password_file": shown.password_file,
        }


@contextmanager
def servers_up(
    folder: RunFolder, users: Mapping[str, tuple[str, Place]], *, tree: str = "site", insecure: bool = False
) -> Iterator[Servers]:
    """Both servers on free loopback ports, every user allowed what its service needs and nothing else.

    `users`: role and place of every user of the bus by name. `insecure`: every program of this machine may say and
    write anything; still nobody outside it. Ended on the way out. Raises `ServerMissing` or `ServerNotStarted`.
    """
    running = _open(folder) if insecure else _guarded(folder, users, tree)
    for name, server in running.by_name.items():
        server.log_file = folder.log(name)
    running.nats.start()
    try:
        running.redis.start()
        yield running
    finally:
        running.redis.stop()
        running.nats.stop()


def _open(folder: RunFolder) -> Servers:
    return Servers(nats_process(folder.state("nats")), redis_process(folder.state("valkey")), None)


def _guarded(folder: RunFolder, users: Mapping[str, tuple[str, Place]], tree: str) -> Servers:
    keys, bus_dir, store_dir = folder.state("keys"), folder.state("nats"), folder.state("valkey")
    public = make_nkeys(keys, users)
    known = [User(name, role, public[name], place) for name, (role, place) in users.items()]
    nats = nats_process(bus_dir, config=lambda port: nats_config(known, port, bus_dir / "jetstream"))
    acl_file = store_dir / "users.acl"
    store_dir.mkdir(parents=True, exist_ok=True)
    write_secret(acl_file, store_acl.acl(tree, store_acl.one_site(keys)))
    admin = store_acl.login(keys, store_acl.ADMIN)
    return Servers(nats, redis_process(store_dir, acl_file=acl_file, login=admin), keys)
