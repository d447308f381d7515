"""The web server: uvicorn on a socket of ours, without its signals, its log, and its patience."""

import asyncio
import contextlib
import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import uvicorn

from easyrider import log
from easyrider.errors import BadConfig
from easyrider_policy_api.adapters.patience import Patience

_HEAD_BYTES = 32 * 1024
_STOP_S = 3
_LOG = log.get("policy-api")
RENEWED_S = 5.0
"""Between two looks at the certificate's files."""


def bound(address: str, file: Path | None) -> socket.socket:
    """A listening socket; the address it has is written to `file`. Raises `BadConfig`."""
    host, _, port = address.rpartition(":")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        door = socket.socket(family, socket.SOCK_STREAM)
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind((host.strip("[]"), int(port)))
        door.listen(512)
    except (OSError, ValueError, OverflowError) as fault:
        raise BadConfig("settings", [f"address {address} cannot be listened on: {fault}"]) from fault
    if file is not None:
        name = door.getsockname()
        draft = file.with_name(file.name + ".new")
        draft.write_text(f"[{name[0]}]:{name[1]}" if ":" in name[0] else f"{name[0]}:{name[1]}")
        os.replace(draft, file)  # noqa: PTH105 - the atomic one
    return door


class _Server(uvicorn.Server):
    """Leaves signals to the service."""

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield


@contextlib.asynccontextmanager
async def serving(
    app: Any,
    door: socket.socket,
    *,
    certificate: Path | None,
    key: Path | None,
    patience: Patience,
    spawn: Callable[[str, Any], asyncio.Task[Any]],
) -> AsyncIterator[None]:
    """Answer on `door` until the block ends; answers under way are given a moment."""
    server = _Server(
        uvicorn.Config(
            app,
            http=patience.protocol(),
            ws="none",
            lifespan="off",
            loop="none",
            interface="asgi3",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # who is believed is decided by the guard
            timeout_keep_alive=15,
            timeout_graceful_shutdown=_STOP_S,
            h11_max_incomplete_event_size=_HEAD_BYTES,
            limit_concurrency=512,
            ssl_certfile=None if certificate is None else str(certificate),
            ssl_keyfile=None if key is None else str(key),
        )
    )
    server.config.load()
    if server.config.ssl is not None and certificate is not None and key is not None:
        server.config.ssl.minimum_version = ssl.TLSVersion.TLSv1_3
        spawn("certificate", _renewed(server.config.ssl, certificate, key))
    task = spawn("web server", server.serve(sockets=[door]))
    try:
        yield
    finally:
        server.should_exit = True
        await asyncio.wait({task}, timeout=_STOP_S + 1)
        door.close()


async def _renewed(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    """Show a renewed certificate to whoever connects from then on."""
    shown = _written(certificate, key)
    while True:
        await asyncio.sleep(RENEWED_S)
        now = _written(certificate, key)
        if now in (None, shown):
            continue
        try:
            context.load_cert_chain(certificate, key)
        except (OSError, ssl.SSLError) as fault:  # half of the pair is here; the other is on its way
            log.bounded(_LOG, "certificate", 60.0).warning(
                "a renewed certificate cannot be used", why=str(fault)
            )
            continue
        shown = now
        _LOG.info("a renewed certificate is shown", file=str(certificate))


def _written(*files: Path) -> tuple[tuple[int, int], ...] | None:
    """What tells one writing of the files from the next; None while one is not there."""
    try:
        return tuple((stat.st_mtime_ns, stat.st_ino) for stat in (file.stat() for file in files))
    except OSError:
        return None
