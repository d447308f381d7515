"""Names under which servers are reached: an IP address or a name of the DNS, for certificates take nothing else."""

import ipaddress
import re
from collections.abc import Iterable, Mapping

from easyrider_cli.init_site import BadSite

_LABEL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_LONGEST = 253


def fit_hosts(told: Mapping[str, Iterable[str | None]]) -> None:
    """Nothing where every host, by its option, can be one; None was not said. Raises `BadSite` with all that cannot."""
    faults = [
        f"{option} {host!r} is neither an IP address nor a DNS name"
        for option, hosts in told.items()
        for host in hosts
        if host is not None and not (is_address(host) or is_name(host))
    ]
    if faults:
        raise BadSite(faults)


def is_address(host: str) -> bool:
    """Whether it is an IP address; without a zone, which is this machine's word alone."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return "%" not in host


def is_name(host: str) -> bool:
    """Whether the DNS could know it (RFC 1123, and the underscore that container engines use).

    A last label of digits alone is a mistyped address.
    """
    labels = host.split(".")
    return len(host) <= _LONGEST and all(map(_LABEL.fullmatch, labels)) and not labels[-1].isdigit()
