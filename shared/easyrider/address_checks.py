"""Whether a setting is an address of its kind; apart from the other checks for the guardian, which has no network.

Each raises `ValueError` with the fault.
"""

from urllib.parse import urlsplit


def nats_address(text: str) -> None:
    """Addresses of servers of one bus, by commas."""
    for part in text.split(","):
        _address(part.strip(), ("nats", "tls", "ws", "wss"), 4222)


def redis_address(text: str) -> None:
    """Address of a store, its database being a number."""
    if text.startswith("unix:///"):
        return
    path = _address(text, ("redis", "rediss"), 6379).strip("/")
    if path and not (path.isascii() and path.isdigit()):
        raise ValueError(f"names database {path!r}, no whole number")


def beyond_this_machine(text: str) -> bool:
    """Whether one of the servers at these addresses, which are addresses, is reached over a network."""
    for part in text.split(","):
        host = urlsplit(part.strip()).hostname or ""
        if not (host in ("", "localhost", "::1") or host.startswith("127.")):
            return True
    return False


def _address(text: str, schemes: tuple[str, ...], port: int) -> str:
    form = f"{schemes[0]}://host:{port}"
    try:
        parts = urlsplit(text)
        host, told_port = parts.hostname, parts.port
    except ValueError:  # its words may repeat a password that stands where a port is expected
        raise ValueError(f"is no address such as {form}: its host or port makes no sense") from None
    if parts.scheme not in schemes:
        begins = ", ".join(f"{scheme}://" for scheme in schemes)
        raise ValueError(f"is no address such as {form}: it begins with none of {begins}")
    if not host or any(char.isspace() for char in text) or told_port == 0:
        raise ValueError(f"is no address such as {form}: {'port 0' if told_port == 0 else 'no host'}")
    if parts.username is not None or parts.password is not None:
        # it would stand in the environment, in process lists and in what an engine tells of its containers
        raise ValueError("names a user or a password, which belong in files of their own")
    return parts.path
