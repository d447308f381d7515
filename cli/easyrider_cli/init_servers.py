"""The configuration of the two servers: TLS alone, users by key and by password, nobody else."""

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from easyrider.nats_config import nats_config
from easyrider.permissions import User
from easyrider_cli.init_site import Site

NATS, REDIS = "nats", "redis"


def nats_conf(site: Site, users: Iterable[User]) -> str:
    """For a nats-server 2.11 or newer; its health is told on the loopback alone."""
    here = PurePosixPath(site.at) / NATS
    extra = "\n".join(
        [
            f'http: "127.0.0.1:{site.monitor_port}"',
            "tls {",
            f'  cert_file: "{here}/certificate.pem"',
            f'  key_file: "{here}/key.pem"',
            f'  ca_file: "{here}/ca.pem"',
            '  min_version: "1.3"',
            f"  verify: {str(site.client_certificates).lower()}",
            "}",
        ]
    )
    return nats_config(users, site.nats_port, Path(site.data) / NATS, host=site.listen, extra=extra)


def redis_conf(site: Site) -> str:
    """For Redis 7.2 or newer with TLS, or Valkey; what is kept there is written through within a second."""
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
