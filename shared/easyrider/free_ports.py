"""A port to listen on that stays free until it is listened on, as far as one process can see to that."""

import secrets
import socket
from pathlib import Path
from typing import Final

_RANGE: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST: Final = 10_240
_FEW: Final = 1_000
_TRIES: Final = 64
_given: set[int] = set()


def free_port() -> int:
    """A port of the loopback that nobody listens on, and that this process was not given before.

    Below those that the kernel hands to outgoing connections: any connection of another program might take one of
    these between this answer and the listening.
    """
    end = _first_of_the_kernel()
    for _ in range(_TRIES if end - _LOWEST >= _FEW else 0):
        port = _LOWEST + secrets.randbelow(
            end - _LOWEST
        )  # unlike those of our neighbours, whatever seeds them
        if port not in _given and _is_free(port):
            _given.add(port)
            return port
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _first_of_the_kernel() -> int:
    try:
        return int(_RANGE.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0  # not said: then no port is known to be outside


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
