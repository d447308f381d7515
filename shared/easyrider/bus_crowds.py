"""Words of a crowd as the bus's client hears them: thousands a second, handed over as they stand in the stream.

The library wakes a task for each message and matches its line against seven patterns: a third of what ten thousand
frames a second cost. Here the lines of those subscriptions that asked for it are cut in one pass over what the server
sent; everything else goes the library's way, in its order.
"""

import time
from collections.abc import Callable
from typing import Any

from nats.protocol.parser import AWAITING_CONTROL_LINE, AWAITING_MSG_PAYLOAD, Parser

from easyrider.bus_port import Crowd

_LINE_END = b"\r\n"
Ear = Callable[[Crowd, int], None]


class CrowdParser(Parser):
    """Cuts the stream of one connection; `crowds` says by a subscription's number who hears it this way."""

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self._ears: dict[bytes, Ear] = {}

    def hear(self, number: int, ear: Ear) -> None:
        """From now on `ear` is given the words of this subscription, and the moment at which they came."""
        self._ears[str(number).encode()] = ear

    def reset(self) -> None:
        """A new connection begins with nothing half heard."""
        super().reset()
        self._rest = b""
        self._streams = getattr(self, "_streams", 0) + 1

    async def parse(self, data: bytes = b"") -> None:
        """Take what the server sent."""
        if not self._ears:
            await super().parse(data)
            return
        if self.buf:  # the library's way has begun on something
            if self.state == AWAITING_MSG_PAYLOAD:
                missing = self.needed + len(_LINE_END) - len(self.buf)
                await super().parse(data[:missing])
                data = data[missing:]
            else:
                data = bytes(self.buf) + data
                self.buf.clear()
        elif self.state != AWAITING_CONTROL_LINE:
            missing = self.needed + len(_LINE_END)
            await super().parse(data[:missing])
            data = data[missing:]
        if self.buf or self.state != AWAITING_CONTROL_LINE:
            return
        await self._cut(self._rest + data if self._rest else data)

    async def _cut(self, data: bytes) -> None:
        heard: dict[bytes, Crowd] = {}
        stream = self._streams
        try:
            rest = await self._cut_into(heard, data)
        finally:
            if heard:
                self._hand_over(heard, time.monotonic_ns())
        if stream == self._streams:  # else what is left belongs to a connection that is gone
            self._rest = rest

    async def _cut_into(self, heard: dict[bytes, Crowd], data: bytes) -> bytes:
        """What is left of the stream's bytes: a line or a message that has not come whole yet."""
        at, size, ears = 0, len(data), self._ears
        while (end := data.find(_LINE_END, at)) >= 0:
            after = end + 2
            if data.startswith(b"MSG ", at):
                words = data[at + 4 : end].split()
                after += int(words[-1]) + 2
                if after > size:
                    break
                number = words[1]
                if number in heard:
                    heard[number].append((words[0], data[end + 2 : after - 2]))
                    at = after
                    continue
                if number in ears:
                    heard[number] = [(words[0], data[end + 2 : after - 2])]
                    at = after
                    continue
            elif data.startswith(b"HMSG ", at):
                after += int(data[at:end].split()[-1]) + 2
                if after > size:
                    break
            await super().parse(data[at:after])
            at = after
        return data[at:]

    def _hand_over(self, heard: dict[bytes, Crowd], now_ns: int) -> None:
        stats = self.nc.stats
        for number, crowd in heard.items():
            stats["in_msgs"] += len(crowd)
            stats["in_bytes"] += sum([len(word) for _, word in crowd])
            self._ears[number](crowd, now_ns)
