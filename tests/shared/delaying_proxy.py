"""A proxy that speaks just enough NATS to hold back one message on its way from the server to a client."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from easyrider.free_ports import free_port


class DelayingProxy:
    """Passes everything through, until `hold_next`: then one message waits and others like it are lost meanwhile."""

    def __init__(self, upstream_port: Callable[[], int]) -> None:
        self.port = free_port()
        self._upstream_port = upstream_port
        self._wanted: Callable[[bytes, bytes], bool] | None = None
        self._delay_s = 0.0
        self.held: list[bytes] = []
        self.released: list[bytes] = []
        self.lost = 0

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"nats://127.0.0.1:{self.port}"

    def hold_next(self, wanted: Callable[[bytes, bytes], bool], delay_s: float) -> None:
        """Delay the next message for which `wanted(subject, payload)` holds.

        Later messages on its subject are lost until it is let go: newer ones would make it stale by number.
        """
        self.held, self.released, self.lost = [], [], 0
        self._delay_s, self._wanted = delay_s, wanted

    async def serve(self, client: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        """One client's connection."""
        server, upward = await asyncio.open_connection("127.0.0.1", self._upstream_port())
        ways = [asyncio.create_task(_pass(client, upward)), asyncio.create_task(self._down(server, answer))]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        for writer in (upward, answer):
            writer.close()

    async def _down(self, server: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        holding: bytes | None = None
        while line := await server.readline():
            if not line.startswith(b"MSG "):
                answer.write(line)
                await answer.drain()
                continue
            words = line.split()
            subject, payload = words[1], await server.readexactly(int(words[-1]) + 2)
            if subject == holding and self.held and not self.released:
                self.lost += 1
                continue
            if self._wanted is not None and self._wanted(subject, payload[:-2]):
                self._wanted, holding = None, subject
                self.held.append(payload[:-2])
                asyncio.get_running_loop().call_later(self._delay_s, self._let_go, answer, line + payload)
                continue
            answer.write(line + payload)
            await answer.drain()

    def _let_go(self, answer: asyncio.StreamWriter, frame: bytes) -> None:
        answer.write(frame)
        self.released.append(frame)


async def _pass(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while part := await source.read(65536):
        sink.write(part)
        await sink.drain()


@contextmanager
def delaying_proxy(upstream_port: Callable[[], int]) -> Iterator[DelayingProxy]:
    """A proxy in a thread of its own before the server that will listen on `upstream_port()`."""
    proxy, loop = DelayingProxy(upstream_port), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="delaying proxy", daemon=True)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(
        asyncio.start_server(proxy.serve, "127.0.0.1", proxy.port), loop
    ).result(5)

    async def stop() -> None:
        server.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    try:
        yield proxy
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result(5)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()
