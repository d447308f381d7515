"""Keys, passwords, certificates and configuration of one installation, written where they belong."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from easyrider import certificates, store_acl, tokens
from easyrider.certificates import Issued
from easyrider.errors import EasyRiderError
from easyrider.nats_config import make_nkey, public_nkey, seed_file
from easyrider.permissions import User
from easyrider.secret_files import read_secret
from easyrider.store_acl import StoreUser
from easyrider_cli import init_servers, init_settings
from easyrider_cli.init_folder import AUTHORITY, SITE_FILE, SiteFolder
from easyrider_cli.init_former import Former, former_of
from easyrider_cli.init_servers import LINK_FILE, NATS, REDIS, bus_folder
from easyrider_cli.init_site import Site, SiteUser, bus_users, guardians, links

ADMIN, API = store_acl.ADMIN, "api"
TOKEN_FILE = "api.token"
_TOKEN_S = 90 * 86400.0


class AuthorityEnded(EasyRiderError):
    """The authority of an installation has expired, and with it everything it signed; nothing was written."""

    def __init__(self, folder: Path, ended: datetime) -> None:
        self.folder, self.ended = folder, ended
        super().__init__(
            f"the authority in {folder / AUTHORITY} ended on {ended:%Y-%m-%d}: remove that folder and renew again, "
            "then every folder has to be brought to its machine at once"
        )


def write_all(folder: SiteFolder, site: Site, rules: str | None, now: datetime) -> None:
    """Everything that is missing, and every configuration anew; what is in use stays as it is."""
    folder.write(".", SITE_FILE, msgspec.json.format(msgspec.json.encode(site), indent=1) + b"\n")
    authority = _authority(folder, now)
    for user in bus_users(site):
        _write_user(folder, site, user, rules)
    for user in guardians(site):
        _write_settings(folder, site, user, rules)
    write_servers(folder, site)
    _first_token(folder, now)
    certify(folder, site, authority, now, again=False)


def renew(folder: SiteFolder, site: Site, now: datetime) -> None:
    """A new certificate and key for every server and client, signed by the authority that all of them believe.

    Raises `AuthorityEnded` where nobody would believe them.
    """
    authority = _authority(folder, now)
    if (ended := certificates.expires(authority.certificate)) <= now:
        raise AuthorityEnded(folder.root, ended)
    certify(folder, site, authority, now, again=True)


def write_servers(folder: SiteFolder, site: Site) -> None:
    """The configuration of both servers, with every user, and what opens beside its key while it is renewed."""
    former, seeds = former_of(folder.root) or Former(), seed_files(folder, site)
    for region in (None, *site.buses):
        own = [
            user for user in bus_users(site) if (user.region if user.region in site.buses else None) == region
        ]
        users = [*own, *(links(site) if region is None else [])]
        known = [each for user in users for each in _known_to_the_bus(user, seeds[user.name], former)]
        folder.write(bus_folder(region), "nats.conf", init_servers.nats_conf(site, known, region))
    for link in links(site):
        seed = read_secret(seeds[link.name])
        folder.write(bus_folder(link.region), LINK_FILE, f"link_seed: {seed}\n")
    folder.write(REDIS, "redis.conf", init_servers.redis_conf(site))
    folder.write(REDIS, "users.acl", store_acl.acl(site.tree, _store_users(folder, site, former)))


def certify(folder: SiteFolder, site: Site, authority: Issued, now: datetime, *, again: bool) -> None:
    """A certificate for each server and, where clients show one, each client; those there stay unless `again`."""
    hosts = ("localhost", "127.0.0.1", "::1", *site.hosts)
    servers = {NATS: (site.nats_host, NATS), REDIS: (site.redis_host, REDIS), API: (site.api_host, API)}
    servers |= {bus_folder(region): (host, bus_folder(region)) for region, host in site.buses.items()}
    for name, own in servers.items():
        # the API is a client of both servers too, and is certified apart for that
        stem = "server" if name == API else "certificate"
        if again or not (folder.of(name) / f"{stem}.pem").exists():
            issued = certificates.issue_server(
                authority, name, (*own, *hosts), now, site.days, links=name not in (NATS, REDIS, API)
            )
            _write_issued(folder, name, stem, issued)
    if site.client_certificates:
        for name in (*(user.name for user in bus_users(site)), ADMIN):
            if again or not (folder.of(name) / "certificate.pem").exists():
                _write_issued(
                    folder, name, "certificate", certificates.issue_client(authority, name, now, site.days)
                )
    for name in (*servers, *(user.name for user in bus_users(site)), ADMIN):
        folder.write(name, "ca.pem", authority.certificate)


def seed_files(folder: SiteFolder, site: Site) -> dict[str, Path]:
    """The key of everyone on a bus, links between buses included, by user; made where it is missing."""
    placed = [(user.name, user.name) for user in bus_users(site)]
    placed += [(link.name, bus_folder(link.region)) for link in links(site)]
    found = {name: seed_file(folder.of(where), name) for name, where in placed}
    for file in found.values():
        make_nkey(file, folder.group)
    return found


def password_files(folder: SiteFolder, site: Site) -> dict[str, Path]:
    """The password of every user of the store, the operator's included; where they are, not whether."""
    names = [user.name for user in bus_users(site) if user.role in store_acl.STORE_ROLES]
    return {name: folder.of(name) / init_settings.PASSWORD for name in (*names, ADMIN)}


def _known_to_the_bus(user: SiteUser, seed: Path, former: Former) -> list[User]:
    keys = [public_nkey(seed), *([former.keys[user.name]] if user.name in former.keys else [])]
    return [User(user.name, user.role, key, user.place) for key in dict.fromkeys(keys)]


def certificate_files(folder: Path) -> Iterator[Path]:
    """Every certificate of an installation, the authority's first."""
    yield folder / AUTHORITY / "ca.pem"
    for name in ("certificate.pem", "server.pem"):
        yield from sorted(folder.glob(f"*/{name}"))


def _authority(folder: SiteFolder, now: datetime) -> Issued:
    here = folder.root / AUTHORITY
    if not (here / "ca.key").exists():
        made = certificates.make_authority("EasyRider site authority", now)
        folder.keep_to_ourselves(AUTHORITY, "ca.key", made.key)
        folder.keep_to_ourselves(AUTHORITY, "ca.pem", made.certificate)
    return Issued((here / "ca.pem").read_bytes(), (here / "ca.key").read_bytes())


def _write_issued(folder: SiteFolder, name: str, stem: str, issued: Issued) -> None:
    key = "key.pem" if stem == "certificate" else f"{stem}.key"
    folder.write(name, key, issued.key)
    folder.write(name, f"{stem}.pem", issued.certificate)


def _write_user(folder: SiteFolder, site: Site, user: SiteUser, rules: str | None) -> None:
    _write_settings(folder, site, user, rules)
    if user.role == "infra-bridge" and not (folder.of(user.name) / init_settings.METERS).exists():
        folder.write(user.name, init_settings.METERS, "meters: []\n")


def _write_settings(folder: SiteFolder, site: Site, user: SiteUser, rules: str | None) -> None:
    told = init_settings.lines(site, user, has_rules=rules is not None)
    if told is not None:
        folder.write(user.name, f"{user.name}.env", told)
    if rules is not None and user.role in ("policy", "forecaster"):
        folder.write(user.name, init_settings.RULES, rules)


def _store_users(folder: SiteFolder, site: Site, former: Former) -> list[StoreUser]:
    several = len(site.scopes) > 1
    known = {user.name: user for user in bus_users(site)}
    found = []
    for name, file in password_files(folder, site).items():
        role = ADMIN if name == ADMIN else known[name].role
        found.append(
            StoreUser(
                name=name,
                role=role,
                password_hash=store_acl.password_hash(file, folder.group),
                scope=known[name].region if several and role == "policy" else None,
                former_hash=former.passwords.get(name),
            )
        )
    return found


def _first_token(folder: SiteFolder, now: datetime) -> None:
    """The first administrator's token, in a file of its own; the API is given what the store keeps of one."""
    if (folder.of(API) / init_settings.FIRST_TOKEN).exists():
        return
    shown, known = tokens.make("first-admin", "admin", "", now.timestamp(), _TOKEN_S)
    folder.write(ADMIN, TOKEN_FILE, shown + "\n")
    folder.write(API, init_settings.FIRST_TOKEN, tokens.encode(known) + b"\n")
