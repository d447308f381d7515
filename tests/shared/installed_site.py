"""An installation as `easyrider init` writes it, with its servers up on free loopback ports: TLS, keys, passwords."""

import asyncio
import contextlib
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from easyrider.embedded import ServerProcess, nats_process, redis_process
from easyrider.free_ports import free_port
from easyrider.store_port import Login
from easyrider_cli.init_command import Asked, init
from easyrider_cli.init_folder import services_group  # noqa: F401 - what tests compare with

ASKED: dict[str, Any] = {
    "nodes": "n1,n2",
    "rules_file": None,
    "region": "r1",
    "tree": "site",
    "hosts": ["127.0.0.1"],
    "nats_host": None,
    "redis_host": None,
    "api_host": None,
    "buses": [],
    "listen": "127.0.0.1",
    "nats_port": 4222,
    "link_port": 7422,
    "redis_port": 6379,
    "api_port": 8480,
    "monitor_port": 8222,
    "at": None,
    "client_certificates": True,
    "days": 397,
    "peer_uid": 10001,
}


_WORDS = ("remove_nodes", "rotate_seeds", "retire_seeds")


def write_site(folder: Path, *, add: bool = False, rotate: bool = False, **asked: Any) -> Path:
    """What `easyrider init` does with these options."""
    words = {word: asked.pop(word) for word in _WORDS if word in asked}
    told = ASKED | {"data": str(folder.parent / f"{folder.name}-data")} | asked
    done = init(Asked(folder=folder, **told), add=add, rotate=rotate, as_json=False, **words)
    assert done == 0
    return folder


class TlsFront:
    """TLS before a server that has none (the embedded store): whoever comes in is handed on in plain text."""

    def __init__(self, behind_port: int, folder: Path, ask_clients: bool = True) -> None:
        self.port, self._behind_port, self._folder = free_port(), behind_port, folder
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        self.context.load_verify_locations(folder / "ca.pem")
        if ask_clients:
            self.context.verify_mode = ssl.CERT_REQUIRED
        self.renew()
        self._loop = asyncio.new_event_loop()
        self._links: set[asyncio.StreamWriter] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tls front", daemon=True)

    def renew(self) -> None:
        """Show what the folder holds now, to those who connect from here on."""
        self.context.load_cert_chain(self._folder / "certificate.pem", self._folder / "key.pem")

    def cut(self) -> None:
        """End every connection, as a restart would."""

        async def close() -> None:
            for link in list(self._links):
                link.close()

        asyncio.run_coroutine_threadsafe(close(), self._loop).result(5)

    def __enter__(self) -> "TlsFront":
        self._thread.start()
        begun = asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=self.context)
        self._server = asyncio.run_coroutine_threadsafe(begun, self._loop).result(5)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._server.close)
        with contextlib.suppress(TimeoutError):
            self.cut()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._links.add(writer)
        with contextlib.suppress(OSError):
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", self._behind_port)
            await asyncio.gather(_pour(reader, inner_writer), _pour(inner_reader, writer))
        self._links.discard(writer)


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@dataclass(slots=True)
class Installed:
    """The folder, its bus, its store behind TLS."""

    folder: Path
    nats: ServerProcess
    redis: ServerProcess
    front: TlsFront

    @property
    def nats_url(self) -> str:
        return f"tls://127.0.0.1:{self.nats.port}"

    @property
    def redis_url(self) -> str:
        return f"rediss://127.0.0.1:{self.front.port}/0"

    def seed(self, user: str) -> Path:
        return self.folder / user / f"{user}.nk"

    def login(self, user: str) -> Login:
        return Login(user, self.folder / user / "store.password")

    def environ(self, user: str) -> dict[str, str]:
        """The settings in the user's folder."""
        return settings(self.folder / user / f"{user}.env")


def settings(file: Path) -> dict[str, str]:
    """An env file as a container engine or systemd reads it."""
    lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


@contextmanager
def site_installed(root: Path, **asked: Any) -> Iterator[Installed]:
    """Written and running, as it was written."""
    ports = {"nats_port": free_port(), "redis_port": free_port(), "monitor_port": free_port()}
    redis_data, front_port = root / "redis-data", 0
    redis_data.mkdir(parents=True)
    # the embedded store knows no TLS, so that it stands behind a front, whose port the settings name
    folder = write_site(root / "site", **(ports | asked))
    admin = Login("admin", folder / "admin" / "store.password")
    redis = redis_process(redis_data, acl_file=folder / "redis" / "users.acl", login=admin)
    # the very file, so that a signal has it read again; only the server's name is added, by which it is known
    included = f'include "../{folder.name}/nats/nats.conf"\n'
    nats = nats_process(root / "nats-data", port=ports["nats_port"], config=lambda _port: included)
    with contextlib.ExitStack() as open_things:
        nats.start()
        open_things.callback(nats.stop)
        redis.start()
        open_things.callback(redis.stop)
        front = TlsFront(redis.port, folder / "redis", asked.get("client_certificates", True))
        front.port = front_port or ports["redis_port"]
        open_things.enter_context(front)
        yield Installed(folder, nats, redis, front)


def until(true: Any, within_s: float, what: str) -> Any:
    """What `true` gives once that is something. Fails after `within_s`."""
    end_s = time.monotonic() + within_s
    while not (found := true()):
        assert time.monotonic() < end_s, f"not within {within_s} s: {what}"
        time.sleep(0.05)
    return found
