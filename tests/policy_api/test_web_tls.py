"""Which TLS the API speaks, and what it shows of a certificate that was renewed."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from installed_site import write_site

from easyrider_policy_api.adapters import web_server
from easyrider_policy_api.adapters.patience import Patience
from easyrider_policy_api.adapters.web_server import bound, serving


class Door:
    """The web server with an installation's certificate, before an application that says nothing."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port

    async def shown(self, newest: ssl.TLSVersion) -> tuple[str | None, bytes | None]:
        """The TLS that was agreed on with a client who knows none newer, and the certificate shown."""
        context = ssl.create_default_context(cafile=str(self.folder / "ca.pem"))
        context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1_2, newest
        _reader, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=context)
        end: ssl.SSLObject = writer.get_extra_info("ssl_object")
        found = end.version(), end.getpeercert(binary_form=True)
        writer.close()
        return found


async def nothing(scope: Any, receive: Any, send: Any) -> None:
    """An application that nobody asks."""


@pytest.fixture
async def door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Door]:
    monkeypatch.setattr(web_server, "RENEWED_S", 0.05)
    folder = write_site(tmp_path / "site") / "api"
    socket, tasks = bound("127.0.0.1:0", None), set[asyncio.Task[Any]]()

    def spawn(name: str, work: Any) -> asyncio.Task[Any]:
        task = asyncio.create_task(work, name=name)
        tasks.add(task)
        return task

    async with serving(
        nothing,
        socket,
        certificate=folder / "server.pem",
        key=folder / "server.key",
        patience=Patience(head_timeout_s=10.0, peer_connections=64),
        spawn=spawn,
    ):
        yield Door(folder, socket.getsockname()[1])
    for task in tasks:
        task.cancel()


async def test_tls_1_3_alone_is_spoken(door: Door) -> None:
    assert (await door.shown(ssl.TLSVersion.TLSv1_3))[0] == "TLSv1.3"
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await door.shown(ssl.TLSVersion.TLSv1_2)


async def test_a_renewed_certificate_is_shown_without_a_restart(door: Door, tmp_path: Path) -> None:
    before = await door.shown(ssl.TLSVersion.TLSv1_3)
    write_site(tmp_path / "site", rotate=True, nodes=None)

    async with asyncio.timeout(10):
        while (await door.shown(ssl.TLSVersion.TLSv1_3)) == before:
            await asyncio.sleep(0.05)
