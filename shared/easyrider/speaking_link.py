"""A connection to the bus that only speaks, for one thread that may not wait and no event loop that would wake.

What ten frames a second cost is mostly waking: with this link the thread that reads the boards says the frame
itself. Late is worse than lost: what the kernel does not take at once is dropped, and a link that gives no sign of
life is broken off with all that still lies in it. Connecting is slow and happens in a thread of its own, which ends
once the link stands.
"""

import random
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from easyrider import log, metrics
from easyrider.bus_greeting import (
    Caller,
    Greeted,
    Lines,
    TurnedAway,
    error_of,
    greet,
    info_of,
    max_payload_bytes_of,
)
from easyrider.tls import why_refused

_PING_S, _PINGS_UNANSWERED = 2.0, 2
_GREET_S = 2.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 2.0
_WANTS_MORE = (ssl.SSLWantReadError, ssl.SSLWantWriteError)
_AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: what was not sent yet is forgotten

_up = metrics.gauge("bus_connected_ratio", "1 while the named connection is up", ["connection"])


@dataclass(frozen=True, slots=True)
class LinkNews:
    """What happened to the link: `up`, `lost`, `waits` (an attempt failed), `forbidden` (one message was refused)."""

    what: Literal["up", "lost", "waits", "forbidden"]
    why: str = ""


class SpeakingLink:
    """`say`, `tend` and `close` are for one thread at a time and never wait; `hand` takes news, from any thread."""

    def __init__(self, url: str, caller: Caller, hand: Callable[[LinkNews], None]) -> None:
        self.unsent = 0
        """Messages that found no link, or one that took nothing more."""
        self._servers = [part.strip() for part in url.split(",")]
        random.shuffle(self._servers)
        self._caller, self._hand = caller, hand
        self._socket: socket.socket | None = None
        self._fresh: Greeted | None = None
        self._lines = Lines()
        self._rest = b""
        self._max_payload_bytes = 0
        self._pings, self._pinged_s = 0, 0.0
        self._connecting = self._closed = False

    @property
    def connected(self) -> bool:
        """Whether a message said now would leave."""
        return self._socket is not None or self._fresh is not None

    def open(self) -> None:
        """Begin to connect; it goes on trying until closed. Does nothing where it has begun."""
        if not self._connecting and not self.connected and not self._closed:
            self._connect()

    def say(self, head: bytes, body: bytes) -> bool:
        """Say it now; False, and it is lost, where it cannot leave now. `head` comes from `head_of`."""
        link = self._socket
        if link is None or self._rest or len(body) > self._max_payload_bytes:
            link = self._ready(len(body))
            if link is None:
                self.unsent += 1
                return False
        words = b"%b%d\r\n%b\r\n" % (head, len(body), body)
        try:
            sent = link.send(words)
        except _WANTS_MORE:
            sent = 0  # a record is made of it already: it has to go before any other
        except BlockingIOError:
            self.unsent += 1
            return False
        except OSError as fault:
            self._lose(fault.strerror or str(fault))
            self.unsent += 1
            return False
        if sent < len(words):
            self._rest = words[sent:]
        return True

    def tend(self) -> None:
        """Hear the server out, answer its pings, see whether it lives. To be called every second or so."""
        self._adopt()
        link = self._socket
        if link is None:
            self._connect()
            return
        try:
            while data := link.recv(65536):
                for line in self._lines.feed(data):
                    self._heard(line)
            self._lose("the server closed the connection")
        except (BlockingIOError, *_WANTS_MORE):
            self._ping()
        except OSError as fault:
            self._lose(fault.strerror or str(fault))

    def close(self) -> None:
        """Leave; what the kernel took is still sent."""
        self._closed = True
        self._adopt()
        self._drop()

    def _ready(self, size: int) -> socket.socket | None:
        """The link, if it takes a message of this size now."""
        self._adopt()
        if self._rest:
            self._speak(b"")
        link = self._socket
        if link is None or self._rest:
            return None
        if size > self._max_payload_bytes:
            largest = self._max_payload_bytes
            self._hand(
                LinkNews("forbidden", f"{size} bytes are more than the {largest} that the server takes")
            )
            return None
        return link

    def _speak(self, words: bytes) -> None:
        """Words of the protocol, behind what is left of a message."""
        link = self._socket
        self._rest += words
        if link is None or not self._rest:
            return
        try:
            self._rest = self._rest[link.send(self._rest) :]
        except (BlockingIOError, *_WANTS_MORE):
            return
        except OSError as fault:
            self._lose(fault.strerror or str(fault))

    def _heard(self, line: bytes) -> None:
        if line == b"PING":
            self._speak(b"PONG\r\n")
        elif line == b"PONG":
            self._pings = 0
        elif line.startswith(b"INFO"):
            info = info_of(line)
            self._max_payload_bytes = max_payload_bytes_of(info, self._max_payload_bytes)
            if info.get("ldm"):  # it will close soon: this link goes on until there is another
                self._connect()
        elif line.startswith(b"-ERR"):
            self._hand(LinkNews("forbidden", error_of(line)))

    def _ping(self) -> None:
        now_s = time.monotonic()
        if now_s - self._pinged_s < _PING_S:
            return
        if self._pings >= _PINGS_UNANSWERED:
            self._lose("the server gives no sign of life")
            return
        self._pings, self._pinged_s = self._pings + 1, now_s
        self._speak(b"PING\r\n")

    def _adopt(self) -> None:
        """Take the link that was made meanwhile."""
        fresh = self._fresh
        if fresh is None:
            return
        self._fresh = None
        self._drop()
        self._socket, self._lines, self._max_payload_bytes = (
            fresh.socket,
            fresh.lines,
            fresh.max_payload_bytes,
        )
        self._pings, self._pinged_s = 0, time.monotonic()
        _up.labels(self._caller.name).set(1)
        self._hand(LinkNews("up"))

    def _lose(self, why: str) -> None:
        """Break off: nothing of it may arrive late."""
        link = self._socket
        if link is None:
            return
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self._drop()
        self._hand(LinkNews("lost", why))
        self._connect()

    def _drop(self) -> None:
        link, self._socket, self._rest = self._socket, None, b""
        if link is not None:
            _up.labels(self._caller.name).set(0)
            link.close()

    def _connect(self) -> None:
        if self._connecting or self._closed or self._fresh is not None:
            return
        self._connecting = True
        threading.Thread(target=self._try, name="bus-greeting", daemon=True).start()

    def _try(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while not self._closed:
            server = self._servers.pop(0)
            self._servers.append(server)
            try:
                self._fresh = greet(server, self._caller, _GREET_S)
                break
            except OSError as fault:
                why = why_refused(fault) or (fault.why if isinstance(fault, TurnedAway) else str(fault))
                self._hand(LinkNews("waits", f"{log.blot(server)}: {why}"))
            # a fleet that lost its server does not come back in one instant
            time.sleep(pause_s * (0.5 + random.random()))
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        self._connecting = False
        if self._closed and (late := self._fresh) is not None:
            late.socket.close()


def head_of(subject: str) -> bytes:
    """How the line before every message on this subject begins."""
    return f"PUB {subject} ".encode()
