"""A running site whose servers are set up by `easyrider init`: TLS, keys, passwords, certificates of clients."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from installed_site import Installed, site_installed
from live_site import QUICK_LEASES, Site, calm_world, site_up, start_jobs

from easyrider.embedded import ServerProcess
from easyrider_cli import stack
from easyrider_cli.rundir import RunFolder

NODES = ("node-1", "node-2")


@dataclass(frozen=True, slots=True)
class TlsServers:
    """Both servers as `easyrider init` sets them up, in the place of the embedded stack's plain ones."""

    site: Installed
    keys: Path

    @property
    def nats(self) -> ServerProcess:
        return self.site.nats

    @property
    def redis(self) -> ServerProcess:
        return self.site.redis

    @property
    def by_name(self) -> dict[str, ServerProcess]:
        return {"nats-server": self.nats, "valkey-server": self.redis}

    def seed(self, user: str) -> Path:
        return self.site.seed(user)

    def bus(self, user: str) -> dict[str, object]:
        return self._named(user, ("NATS_URL", "SEED_FILE", "CA_FILE", "CERTIFICATE_FILE", "KEY_FILE"))

    def store(self, user: str) -> dict[str, object]:
        return self._named(user, ("REDIS_URL", "REDIS_USER", "REDIS_PASSWORD_FILE"))

    def _named(self, user: str, names: tuple[str, ...]) -> dict[str, object]:
        told = self.site.environ(user)
        return {
            name.lower(): value for name in names for key, value in told.items() if key.endswith(f"_{name}")
        }


@dataclass(slots=True)
class Encrypted:
    """A running site, and the folder that `easyrider init` wrote for it."""

    site: Site
    installed: Installed


@contextmanager
def encrypted_site(root: Path) -> Iterator[Encrypted]:
    """Two nodes under a calm job, every connection of theirs as an installation has it."""
    with site_installed(root / "i", nodes=",".join(NODES), region=stack.REGION, tree=stack.TREE) as installed:

        @contextmanager
        def servers_up(folder: RunFolder, *_: object, **_more: object) -> Iterator[TlsServers]:
            folder.state("keys").mkdir(parents=True)
            yield TlsServers(installed, installed.folder)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stack, "servers_up", servers_up)
            with site_up(
                root / "s", calm_world(), without=("infra-bridge",), rules={"leases": QUICK_LEASES}
            ) as site:
                start_jobs(site)
                yield Encrypted(site, installed)
