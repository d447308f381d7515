"""A bare connection to the bus for the emulated nodes: whole slices of the fleet leave in one write."""

import asyncio
from collections.abc import Callable
from urllib.parse import urlsplit

Take = Callable[[bytes, bytes], None]


class Link(asyncio.Protocol):
    """Speaks NATS in plain text: PUB lines made elsewhere go out, subject and payload of what comes go to `take`."""

    def __init__(self, take: Take) -> None:
        self._take, self._rest = take, b""
        self.transport: asyncio.Transport | None = None
        self.lost = False

    @classmethod
    async def open(cls, url: str, take: Take, subscriptions: tuple[str, ...] = ()) -> "Link":
        """A connected link that hears the given subjects."""
        place = urlsplit(url)
        loop = asyncio.get_running_loop()
        transport, link = await loop.create_connection(lambda: cls(take), place.hostname, place.port)
        transport.write(b'CONNECT {"verbose":false,"pedantic":false}\r\n')
        for number, subject in enumerate(subscriptions, 1):
            transport.write(b"SUB %s %d\r\n" % (subject.encode(), number))
        transport.write(b"PING\r\n")
        return link

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Kept for writing."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.set_write_buffer_limits(high=64 << 20)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio names it
        """The run is void."""
        self.lost = True

    def data_received(self, data: bytes) -> None:
        """Cut into lines and payloads."""
        data = self._rest + data
        at = 0
        while (end := data.find(b"\r\n", at)) >= 0:
            if data.startswith(b"MSG ", at):
                words = data[at:end].split()
                size = int(words[-1])
                if len(data) < end + 4 + size:
                    break
                self._take(words[1], data[end + 2 : end + 2 + size])
                at = end + 4 + size
                continue
            if data.startswith(b"PING", at):
                self.write(b"PONG\r\n")
            elif data.startswith(b"-ERR", at):
                raise RuntimeError(data[at:end].decode())
            at = end + 2
        self._rest = data[at:]

    def write(self, data: bytes) -> None:
        """To the kernel, or to the transport's buffer while the server lags."""
        assert self.transport is not None
        self.transport.write(data)
