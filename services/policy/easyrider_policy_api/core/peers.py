"""Who really asks: the peer of the connection, or what a proxy that is on the list says of it."""

import ipaddress
from collections.abc import Sequence

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def networks(texts: Sequence[str]) -> tuple[Network, ...]:
    """Proxies that are believed. Raises `ValueError` for what is no network."""
    return tuple(ipaddress.ip_network(text, strict=False) for text in texts)


def real_peer(connected: str, forwarded_for: Sequence[str], proxies: Sequence[Network]) -> str:
    """The address to count by. `forwarded_for`: values of the header, as they came.

    Addresses are read from the right: each was written by the hop after it, so the first one that is no listed
    proxy is the last that somebody we believe has seen. What stands left of it anybody could have written.
    """
    if not is_listed(connected, proxies):
        return connected
    hops = [hop.strip() for value in forwarded_for for hop in value.split(",")]
    peer = connected
    for hop in reversed(hops):
        address = _address(hop)
        if address is None:
            return peer
        peer = address
        if not is_listed(peer, proxies):
            return peer
    return peer


def is_listed(text: str, proxies: Sequence[Network]) -> bool:
    """Whether this address is that of a proxy we believe."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return any(address in network for network in proxies)


def _address(text: str) -> str | None:
    try:
        return str(ipaddress.ip_address(text.strip("[]")))
    except ValueError:
        return None
