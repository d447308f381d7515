"""Users of a real nats-server who try everything: in the server's own words, many attempts in one round trip."""

import base64
import json
import re
import socket
import ssl
from pathlib import Path

import nkeys

_DENIED = re.compile(rb'Permissions Violation for (Publish|Subscription) to "([^"]+)"')
_SAID = re.compile(rb"^MSG (\S+) (\d+) (\d+)\r\n", re.MULTILINE)


class Attempts:
    """One connection that signs in with a seed, as any client does, and keeps what the server answers."""

    def __init__(self, port: int, seed_file: Path, tls: ssl.SSLContext | None = None) -> None:
        self._all = b""
        self._link: socket.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self._link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        info = json.loads(self._line().removeprefix(b"INFO "))
        if tls is not None:
            self._link = tls.wrap_socket(self._link, server_hostname="127.0.0.1")
        pair = nkeys.from_seed(bytearray(seed_file.read_bytes().strip()))
        signature = base64.urlsafe_b64encode(pair.sign(info["nonce"].encode())).rstrip(b"=").decode()
        hello = {
            "nkey": pair.public_key.decode(),
            "sig": signature,
            "lang": "test",
            "version": "0",
            "verbose": False,
        }
        self._link.sendall(b"CONNECT " + json.dumps(hello).encode() + b"\r\n")
        self.answered()

    def denied(self, verb: str, subjects: list[str]) -> set[str]:
        """Which of these subjects the server refuses to be published on, or subscribed to."""
        words, told = (
            (b"PUB %b 1\r\nx\r\n", b"Publish") if verb == "publish" else (b"SUB %b %d\r\n", b"Subscription")
        )
        found: set[str] = set()
        for number, subject in enumerate(subjects):
            name = subject.encode()
            self._link.sendall(words % name if verb == "publish" else words % (name, number))
            if verb == "subscribe":
                self._link.sendall(b"UNSUB %d\r\n" % number)
        for kind, subject in _DENIED.findall(self.answered()):
            assert kind == told
            found.add(subject.decode())
        return found

    def listen(self, subjects: list[str]) -> None:
        """Subscribe to all of these and go on listening."""
        for number, subject in enumerate(subjects):
            self._link.sendall(b"SUB %b %d\r\n" % (subject.encode(), number))
        assert _DENIED.search(self.answered()) is None

    def say(self, subject: str, body: bytes) -> None:
        """Publish, allowed or not."""
        self._link.sendall(b"PUB %b %d\r\n%b\r\n" % (subject.encode(), len(body), body))

    def heard(self) -> set[tuple[str, bytes]]:
        """Subject and body of everything that ever came up to now."""
        self.answered()
        text, found = self._all, set()
        for match in _SAID.finditer(text):
            found.add((match[1].decode(), text[match.end() : match.end() + int(match[3])]))
        return found

    def answered(self) -> bytes:
        """Everything the server sent until it answered a ping: it has seen all that was sent before."""
        self._link.sendall(b"PING\r\n")
        told = b""
        while not told.endswith(b"PONG\r\n"):
            got = self._link.recv(1 << 16)
            if not got:
                self._link.close()
                raise ConnectionError(told.decode(errors="replace"))
            told += got
            if told.endswith(b"PING\r\n"):
                self._link.sendall(b"PONG\r\n")
        self._all += told
        return told

    def close(self) -> None:
        self._link.close()

    def _line(self) -> bytes:
        line = b""
        while not line.endswith(b"\r\n"):
            line += self._link.recv(1)
        return line
