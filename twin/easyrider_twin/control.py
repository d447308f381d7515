"""`control.sock`: one JSON request a line, one JSON answer a line.

`{"do": "start", "seconds": 150}` lets the job clock run, and fixes the outcome when it shows so many
seconds. `status`, `outcome`, `stop`; `fail_module` and `restore_module` {"domain", "modules"};
`gpu_fault` {"node", "gpu", code | delay_us | blank | write_fault | xid | out_of_band_w};
`node_fault` {"node", driver_state | deny_set | call_latency_ns}; `silence_meter` {"meter", "silent"}.
"""

import asyncio
import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

Handler = Callable[[dict[str, Any]], dict[str, Any]]


class Refused(Exception):
    """A request made no sense; nothing changed."""


class Control:
    """The socket's server: `handlers` by the value of `do`."""

    def __init__(self, handlers: dict[str, Handler]) -> None:
        self._handlers = handlers
        self._server: asyncio.Server | None = None
        self._talks: dict[asyncio.StreamWriter, asyncio.Task[None] | None] = {}

    async def open(self, path: Path) -> None:
        """Listen. A stale socket of an earlier run is replaced."""
        path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._talk, path)

    async def close(self) -> None:
        """Stop listening and hang up."""
        if self._server is not None:
            self._server.close()
            talks = [talk for talk in self._talks.values() if talk is not None]
            for writer in self._talks:
                writer.close()
            await asyncio.gather(*talks)
            await self._server.wait_closed()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._talks[writer] = asyncio.current_task()
        try:
            while line := await reader.readline():
                writer.write(json.dumps(self.answer(line)).encode() + b"\n")
                await writer.drain()
        except ConnectionError:
            pass  # the other end is gone; nothing of the world hangs on it
        finally:
            del self._talks[writer]
            writer.close()

    def answer(self, line: bytes) -> dict[str, Any]:
        """The answer to one request line; `ok` tells whether it was done."""
        try:
            request = json.loads(line)
            handler = self._handlers[request.pop("do")]
            return {"ok": True} | handler(request)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, Refused) as fault:
            return {"ok": False, "error": f"{type(fault).__name__}: {fault}"}


def ask(path: Path, request: dict[str, Any], timeout_s: float = 5.0) -> dict[str, Any]:
    """One request to a running twin, from ordinary (blocking) code. Raises `OSError`, `Refused`."""
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(timeout_s)
        line.connect(str(path))
        line.sendall(json.dumps(request).encode() + b"\n")
        with line.makefile("rb") as answers:
            answer = json.loads(answers.readline())
    if not answer["ok"]:
        raise Refused(answer["error"])
    return dict(answer)
