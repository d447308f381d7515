"""The client library as the bus uses it: prompt, for ever, and never in plain text where TLS is asked for."""

import asyncio
import random
import ssl
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from nats.aio.client import Client, Srv
from nats.aio.transport import TcpTransport

from easyrider.bus_crowds import CrowdParser, Ear
from easyrider.tls import PlainText, TlsFiles

UNSENT_LIMIT = 1024 * 1024
"""Bytes that may wait for the link; more is not taken."""
_PING_S = 2
_ENCRYPTED = ("tls", "wss")
_CLOSE_S, _AGAIN_S = 1.0, 0.2


class PromptClient(Client):
    """Hands a lone message to the transport at once; the library's own way wakes a task for it, a third of its cost.

    What comes while the transport still holds something goes the library's way: in one go, and counted as pending.
    """

    def __init__(self, url: str, tls: TlsFiles | None) -> None:
        super().__init__()
        self._cutter = self._ps = CrowdParser(self)
        self._encrypted = tls is not None or urlsplit(url.split(",")[0]).scheme in _ENCRYPTED
        self._files = tls or TlsFiles()

    @property
    def ssl_context(self) -> ssl.SSLContext:
        """Made anew for each connection: certificates are renewed while we run."""
        return self._files.context()

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        # the library takes `tls://` for a wish: it goes on in plain text where the server offers nothing else
        here = self._current_server.uri.scheme if self._current_server else ""
        if initial_connection and self._encrypted and here != "wss" and not info.get("tls_required"):
            raise PlainText("the server speaks plain text where TLS is asked for; nothing was said to it")
        await super()._process_info(info, initial_connection)

    async def _connect_to_server(self, server: Srv) -> None:
        if self._nkeys_seed is not None:
            self._setup_nkeys_seed_connect()  # or a renewed seed would sign for the user of the former one
        await super()._connect_to_server(server)
        if type(self._transport) is TcpTransport:
            self._transport = _SureToClose(self._transport)

    def hear_crowd(self, number: int, ear: Ear) -> None:
        """Hand the words of this subscription to `ear` as they come, many at a time, past the library's queue."""
        self._cutter.hear(number, ear)

    def say(self, subject: str, body: bytes) -> bool:
        """Give a message to an idle link, in one piece; False, and nothing is said, where it has to go `publish`'s way.

        Two thirds of what a lone message costs on that way are steps that a link at rest does not need.
        """
        return self.say_all([(subject, body)])

    def say_all(self, words: Sequence[tuple[str, bytes]]) -> bool:
        """The same of several, together: each alone would be a call of the kernel."""
        link = self._idle_link()
        if link is None or self._status != Client.CONNECTED or self._pending_data_size:
            return False
        said = []
        for subject, body in words:
            head = _head(subject)
            if head is None or len(body) > self._max_payload:
                return False
            said.append(b"%b%d\r\n%b\r\n" % (head, len(body), body))
        link.write(b"".join(said))
        self.stats["out_msgs"] += len(words)
        self.stats["out_bytes"] += sum(len(body) for _, body in words)
        return True

    def _idle_link(self) -> Any:
        """The transport below, None where it is closing, holds something, or is a websocket."""
        writer = getattr(self._transport, "_io_writer", None)
        link = None if writer is None else writer.transport
        return None if link is None or link.is_closing() or link.get_write_buffer_size() else link

    async def _flush_pending(self, force_flush: bool = False) -> Any:
        link = self._idle_link()
        if force_flush or link is None:
            return await super()._flush_pending(force_flush)
        if self._pending_data_size > 0:
            pending, self._pending, self._pending_data_size = self._pending, [], 0
            link.writelines(pending)


@lru_cache(maxsize=4096)
def _head(subject: str) -> bytes | None:
    """How the line before a message on this subject begins; None for a subject that the library may refuse."""
    return f"PUB {subject} ".encode() if subject.isprintable() and subject and " " not in subject else None


class _SureToClose(TcpTransport):
    """A link whose other side refused us after the handshake sometimes never says that it is closed.

    The library would wait for that word for ever, and try no more.
    """

    def __init__(self, opened: TcpTransport) -> None:
        self.__dict__.update(opened.__dict__)

    async def wait_closed(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await super().wait_closed()  # type: ignore[no-untyped-call]
            return
        if self._io_writer is not None:
            self._io_writer.transport.abort()


async def within(work: Coroutine[Any, Any, None], wait_s: float | None) -> None:
    """Do it, in so much time if any is named. Raises `TimeoutError`.

    The library loses a cancellation that comes as a connection is just made (`asyncio.wait_for` before Python 3.12),
    and would try for ever: it is told again until it listens.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=wait_s)
        if not task.done():
            raise TimeoutError
    finally:
        while not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=_AGAIN_S)
        if not task.cancelled():
            task.exception()  # is told below, unless it came after the time was up
    task.result()


def options(user: str, seed_file: Path | None) -> dict[str, Any]:
    """How a user connects: it tries for ever, notices a dead link within seconds, and has an inbox of its own."""
    return {
        "connect_timeout": 2,
        # a fleet that lost its server does not come back in one instant
        "reconnect_time_wait": 0.2 + 0.3 * random.random(),
        "max_reconnect_attempts": -1,
        "ping_interval": _PING_S,
        "max_outstanding_pings": 2,
        "pending_size": 2 * UNSENT_LIMIT,
        "drain_timeout": 5,
        "inbox_prefix": f"_INBOX_{user}",
        "nkeys_seed": None if seed_file is None else str(seed_file),
    }
