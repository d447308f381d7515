"""Becoming a user of the bus on a plain socket: INFO, TLS, CONNECT, PING, PONG; blocking, with one deadline for all.

For the link that only speaks (`easyrider.speaking_link`). The client library cannot be greeted by one thread and
used by another. Source: the client protocol of NATS, which has not changed in these words since it has keys.
"""

import json
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from easyrider.errors import EasyRiderError
from easyrider.tls import PlainText, TlsFiles

ENCRYPTED = ("tls", "wss")
_PORT = 4222
_LONGEST_BYTES = 1 << 20
_KERNEL_BYTES = 64 * 1024
"""So much may wait in the kernel for a server that takes nothing: a second or so of frames, the rest is lost."""


class TurnedAway(EasyRiderError, ConnectionError):
    """A server answered and does not take us; nothing was sent."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"the server turns us away: {why}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who comes in: `name` is for people, the user is whom the seed proves. `tls`: nothing is said in plain text."""

    name: str
    seed_file: Path | None = None
    tls: TlsFiles | None = None


class Lines:
    """What a server says, line by line. Whoever subscribes nothing hears nothing else."""

    def __init__(self) -> None:
        self._part = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are whole by now. Raises `TurnedAway` for one that has no end."""
        *whole, self._part = (self._part + data).split(b"\r\n")
        if len(self._part) > _LONGEST_BYTES:
            raise TurnedAway("it speaks no NATS")
        return whole

    @property
    def is_between(self) -> bool:
        """Nothing has come of the next line."""
        return not self._part


@dataclass(frozen=True, slots=True)
class Greeted:
    """A socket that the server takes messages on, in no-wait mode, and the bytes of the largest one."""

    socket: socket.socket
    lines: Lines
    max_payload_bytes: int


def greet(url: str, caller: Caller, within_s: float) -> Greeted:
    """A link to the server at one address. Raises `TurnedAway`, `PlainText`, or another `OSError`."""
    address, until_s = urlsplit(url), time.monotonic() + within_s
    link = socket.create_connection((address.hostname or "", address.port or _PORT), timeout=within_s)
    try:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _KERNEL_BYTES)
        lines = Lines()
        [first, *rest] = _hear(link, lines, until_s)
        info = info_of(first)
        if caller.tls is not None or address.scheme in ENCRYPTED or info.get("tls_required"):
            if not info.get("tls_required"):
                raise PlainText("the server speaks plain text where TLS is asked for; nothing was said to it")
            if rest or not lines.is_between:
                raise TurnedAway("it went on in plain text before TLS")
            context = (caller.tls or TlsFiles()).context()
            link.settimeout(_left_s(until_s))
            link = context.wrap_socket(link, server_hostname=address.hostname)
        link.settimeout(_left_s(until_s))
        link.sendall(b"CONNECT " + json.dumps(_proof(caller, info)).encode() + b"\r\nPING\r\n")
        while b"PONG" not in (answers := rest or _hear(link, lines, until_s)):
            rest = []
            for line in answers:
                if line.startswith(b"-ERR"):
                    raise TurnedAway(error_of(line))
        link.setblocking(False)
    except BaseException:
        link.close()
        raise
    return Greeted(link, lines, max_payload_bytes_of(info, _LONGEST_BYTES))


def info_of(line: bytes) -> dict[str, Any]:
    """What stands in a line of INFO. Raises `TurnedAway` where it is none."""
    if line.startswith(b"-ERR"):
        raise TurnedAway(error_of(line))
    word, _, body = line.partition(b" ")
    try:
        info = json.loads(body) if word == b"INFO" else None
    except ValueError:
        info = None
    if not isinstance(info, dict):
        raise TurnedAway("it speaks no NATS")
    return info


def max_payload_bytes_of(info: dict[str, Any], known: int) -> int:
    """The bytes of the largest message that a server takes; `known` where it does not say."""
    told = info.get("max_payload")
    return told if type(told) is int and told > 0 else known


def error_of(line: bytes) -> str:
    """The text of a line of -ERR."""
    return line[4:].strip().strip(b"'").decode(errors="replace")


def _hear(link: socket.socket, lines: Lines, until_s: float) -> list[bytes]:
    """One line or more. Raises `OSError` where the server leaves or says nothing in time."""
    while True:
        link.settimeout(_left_s(until_s))
        data = link.recv(65536)
        if not data:
            raise ConnectionResetError("the server closed the connection")
        if whole := lines.feed(data):
            return whole


def _left_s(until_s: float) -> float:
    left_s = until_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError("the server took too long to greet us")
    return left_s


def _proof(caller: Caller, info: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "verbose": False, "pedantic": False, "echo": False, "protocol": 1, "headers": False, "no_responders": False,
        "lang": "easyrider", "version": "1", "name": caller.name,
    }  # fmt: skip
    if caller.seed_file is None or "nonce" not in info:  # a server without users asks nobody for a key
        return told
    from easyrider.nats_config import prove  # loads cryptography that a bus without keys has no use for

    try:
        public, signature = prove(caller.seed_file, str(info["nonce"]).encode())
    except ValueError as fault:
        raise TurnedAway(str(fault)) from fault
    return told | {"nkey": public, "sig": signature}
