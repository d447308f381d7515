"""The link between two nats-servers, through a proxy of ours that can be cut, frozen and healed."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from easyrider.free_ports import free_port


class Link:
    """A TCP proxy in a thread of its own. `cut` ends what is open and lets nothing in; `freeze` passes no byte."""

    def __init__(self, upstream_port: int) -> None:
        self.port = free_port()
        self._upstream_port = upstream_port
        self._loop = asyncio.new_event_loop()
        self._open = asyncio.Event()
        self._open.set()
        self._down = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._serving: set[asyncio.Task[None]] = set()

    def cut(self) -> None:
        """Nothing passes and nobody connects until `heal`."""
        self._loop.call_soon_threadsafe(self._cut)

    def freeze(self) -> None:
        """Connections stay and no byte passes until `heal`."""
        self._loop.call_soon_threadsafe(self._open.clear)

    def heal(self) -> None:
        """Everything passes again."""
        self._loop.call_soon_threadsafe(self._heal)

    def _cut(self) -> None:
        self._down = True
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    def _heal(self) -> None:
        self._down = False
        self._open.set()

    async def end(self) -> None:
        """Everything closed, and every connection's task with it."""
        self._cut()
        self._open.set()
        while self._serving:
            await asyncio.wait(self._serving, timeout=1)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        if self._down:
            writer.transport.abort()
            return
        try:
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self._upstream_port)
        except OSError:
            writer.transport.abort()
            return
        both = {writer, up_writer}
        self._writers |= both
        ways = [
            asyncio.create_task(self._pass(reader, up_writer)),
            asyncio.create_task(self._pass(up_reader, writer)),
        ]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        for each in both:
            each.transport.abort()
        self._writers -= both

    async def _pass(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while part := await source.read(65536):
            await self._open.wait()
            sink.write(part)
            await sink.drain()


@contextmanager
def link(upstream_port: int) -> Iterator[Link]:
    """A link to the server that listens, or will listen, on a port."""
    proxy = Link(upstream_port)
    loop = proxy._loop
    thread = threading.Thread(target=loop.run_forever, name="leaf link", daemon=True)
    thread.start()
    opened = asyncio.run_coroutine_threadsafe(
        asyncio.start_server(proxy.serve, "127.0.0.1", proxy.port), loop
    ).result(10)
    try:
        yield proxy
    finally:
        loop.call_soon_threadsafe(opened.close)
        asyncio.run_coroutine_threadsafe(proxy.end(), loop).result(5)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()
