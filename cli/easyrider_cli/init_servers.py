"""The configuration of the two servers: TLS alone, users by key and by password, nobody else."""

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from easyrider.nats_config import nats_config
from easyrider.permissions import User
from easyrider_cli.init_settings import in_address
from easyrider_cli.init_site import Site

NATS, REDIS, LINK_FILE = "nats", "redis", "link.conf"


def nats_conf(site: Site, users: Iterable[User], region: str | None = None) -> str:
    """For a nats-server 2.11 or newer; its health is told on the loopback alone.

    `region`: that of a region with a bus of its own, which links itself to the bus of the top; None: the top's.
    """
    here = PurePosixPath(site.at) / bus_folder(region)
    shown = [
        f'cert_file: "{here}/certificate.pem"',
        f'key_file: "{here}/key.pem"',
        f'ca_file: "{here}/ca.pem"',
        'min_version: "1.3"',
    ]
    asked = [*shown, f"verify: {str(site.client_certificates).lower()}"]
    extra = [f'http: "127.0.0.1:{site.monitor_port}"', f"tls {{ {', '.join(asked)} }}"]
    if region is not None:
        url = f"tls://{in_address(site.nats_host)}:{site.link_port}"
        extra += [
            f'include "{LINK_FILE}"',
            f'leafnodes {{ remotes: [ {{ urls: ["{url}"], nkey: $link_seed, tls {{ {", ".join(shown)} }} }} ] }}',
        ]
    elif site.buses:
        listens = f'listen: "{site.listen}:{site.link_port}", no_advertise: true'
        extra.append(f"leafnodes {{ {listens}, tls {{ {', '.join(asked)} }} }}")
    data = Path(site.data) / NATS
    return nats_config(users, site.nats_port, data, host=site.listen, extra="\n".join(extra))


def bus_folder(region: str | None) -> str:
    """The folder of the bus of a region; None: of the top's."""
    return NATS if region is None else f"{NATS}-{region}"


def redis_conf(site: Site) -> str:
    """For Redis 7.0 or newer with TLS, or Valkey; what is kept there is written through within a second."""
    here = PurePosixPath(site.at) / REDIS
    return "\n".join(
        [
            f"bind {site.listen}",
            "port 0",
            f"tls-port {site.redis_port}",
            f"tls-cert-file {here}/certificate.pem",
            f"tls-key-file {here}/key.pem",
            f"tls-ca-cert-file {here}/ca.pem",
            f"tls-auth-clients {'yes' if site.client_certificates else 'no'}",
            'tls-protocols "TLSv1.3"',
            f"aclfile {here}/users.acl",
            f"dir {site.data}/{REDIS}",
            'save ""',
            "appendonly yes",
            "",
        ]
    )
