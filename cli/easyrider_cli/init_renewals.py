"""What `easyrider init` renews in an installation that is in use, and what its operator does next."""

from collections.abc import Callable

from easyrider import certificates
from easyrider_cli import init_material, init_seeds
from easyrider_cli.init_folder import SiteFolder
from easyrider_cli.init_site import Site

BRING_AND_READ = (
    "next: bring each folder to where it is used, send nats-server SIGHUP, have the store read its files again "
    "(docs/security.md); services read theirs when they connect"
)
_MOVE_OVER = (
    "next: bring nats/ and redis/ to where they are used and have both servers read them (SIGHUP, ACL LOAD); then the "
    "folder of each service, and have it connect again; once all did, --retire-seeds (docs/security.md)"
)
_SHUT = (
    "next: bring nats/ and redis/ to where they are used and have both servers read them (SIGHUP, ACL LOAD): from then "
    "on the former keys and passwords open nothing"
)

Renewal = Callable[[SiteFolder, Site], tuple[str, str]]
"""Does it; gives what was done and what comes next."""


def certificates_anew(folder: SiteFolder, site: Site) -> tuple[str, str]:
    """Every certificate. Raises `AuthorityEnded`."""
    init_material.renew(folder, site, certificates.today())
    return "renewed", BRING_AND_READ


def seeds_anew(folder: SiteFolder, site: Site) -> tuple[str, str]:
    """Every key of the bus and password of the store; the former ones open too. Raises `BadSite`."""
    init_seeds.rotate(folder, site)
    return "keys and passwords renewed, the former ones open too", _MOVE_OVER


def seeds_retired(folder: SiteFolder, site: Site) -> tuple[str, str]:
    """The former ones are taken away. Raises `BadSite`."""
    init_seeds.retire(folder, site)
    return "former keys and passwords taken away", _SHUT
