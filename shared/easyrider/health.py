"""/live, /ready and /metrics on a loopback port, served by the very loop whose health they tell.

A loop that is stuck answers nothing at all, which is the right answer.
"""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

_TYPES = {"json": "application/json", "text": "text/plain; version=0.0.4; charset=utf-8"}
_DEADLINE_S = 2.0
_HEAD_LIMIT = 8192


class HealthDoor:
    """A tiny HTTP server: GET only, one answer a connection."""

    def __init__(
        self, readiness: Callable[[], tuple[bool, dict[str, Any]]], metrics: Callable[[], bytes]
    ) -> None:
        self._readiness, self._metrics = readiness, metrics
        self._server: asyncio.Server | None = None
        self.address = ""

    async def open(self, address: str, file: Path | None) -> None:
        """Listen on "host:port" (port 0: a free one); the bound address goes to `file`, written at one stroke."""
        host, _, port_text = address.rpartition(":")
        port = int(port_text)
        if not host or not 0 <= port <= 65535:  # some loops take a port modulo 65536
            raise ValueError(f"{address!r} is no host:port")
        self._server = await asyncio.start_server(self._serve, host.strip("[]"), port, limit=_HEAD_LIMIT)
        bound = self._server.sockets[0].getsockname()
        self.address = f"{bound[0]}:{bound[1]}"
        if file is not None:
            draft = file.with_name(file.name + ".new")
            draft.write_text(self.address)
            os.replace(draft, file)  # noqa: PTH105 - the atomic one

    async def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_DEADLINE_S):
                head = await reader.readuntil(b"\r\n\r\n")
                status, kind, body = self._answer(head.split(b"\r\n", 1)[0].decode("latin-1").split())
                writer.write(
                    f"HTTP/1.1 {status}\r\nContent-Type: {_TYPES[kind]}\r\nContent-Length: {len(body)}\r\n"
                    "Connection: close\r\n\r\n".encode()
                )
                writer.write(body)
                await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            return  # a visitor that asks nothing, too much or leaves gets no answer
        finally:
            writer.close()

    def _answer(self, request: list[str]) -> tuple[str, str, bytes]:
        if len(request) != 3 or request[0] != "GET":
            return "405 Method Not Allowed", "text", b"GET only\n"
        path = request[1].partition("?")[0]
        if path == "/live":
            return "200 OK", "text", b"live\n"
        if path == "/ready":
            ready, checks = self._readiness()
            body = json.dumps({"ready": ready, "checks": checks}).encode() + b"\n"
            return ("200 OK" if ready else "503 Service Unavailable"), "json", body
        if path == "/metrics":
            return "200 OK", "text", self._metrics()
        return "404 Not Found", "text", b"/live, /ready and /metrics are here\n"
