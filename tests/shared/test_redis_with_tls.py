"""The store as an installation has it, where a Redis or Valkey built with TLS is on PATH: the embedded one has none."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from installed_site import until, write_site

from easyrider.free_ports import free_port
from easyrider.store import Store
from easyrider.store_port import Login, StoreSilent
from easyrider.tls import TlsFiles


@dataclass(slots=True)
class Encrypted:
    folder: Path
    port: int
    client: str

    @property
    def url(self) -> str:
        return f"rediss://127.0.0.1:{self.port}/0"

    @property
    def login(self) -> Login:
        return Login("policy", self.folder / "policy" / "store.password")

    def tls(self, user: str = "policy") -> TlsFiles:
        here = self.folder / user
        return TlsFiles(ca=here / "ca.pem", certificate=here / "certificate.pem", key=here / "key.pem")

    def serial(self) -> str:
        """Of the certificate that is shown to those who come now."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as link:
            with self.tls().context().wrap_socket(link, server_hostname="127.0.0.1") as secure:
                return str(secure.getpeercert()["serialNumber"])  # type: ignore[index]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Encrypted]:
    found = next((name for name in ("redis-server", "valkey-server") if shutil.which(name)), None)
    client = found and shutil.which(found.replace("-server", "-cli"))
    if found is None or client is None:
        pytest.skip("no redis-server or valkey-server with its redis-cli is on PATH")
    root, port = Path(tmp_path_factory.mktemp("t")), free_port()
    folder = write_site(root / "site", redis_port=port)
    (root / "site-data" / "redis").mkdir(parents=True)
    with (root / "log").open("w") as log:
        process = subprocess.Popen([found, str(folder / "redis" / "redis.conf")], stdout=log, stderr=log)
    try:
        until(
            lambda: process.poll() is not None or "Ready to accept" in (root / "log").read_text(),
            15,
            "a server",
        )
        if process.poll() is not None:
            told = (root / "log").read_text()
            assert "tls" in told.lower(), told
            pytest.skip(f"{found} is built without TLS")
        yield Encrypted(folder, port, client)
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)


async def test_the_configuration_is_taken_and_services_get_in_with_what_they_were_given(
    server: Encrypted,
) -> None:
    async with Store.connect(server.url, login=server.login, tls=server.tls(), deadline_s=5) as store:
        assert await store.take_lead("site", "r1", "me", 0, 5.0) is not None
        await store.save_rules("site", 1, b"{}")
        assert await store.load_rules("site") == (1, b"{}")


async def test_plain_text_and_a_client_without_a_certificate_get_nowhere(server: Encrypted) -> None:
    for url, tls in (
        (server.url.replace("rediss", "redis"), None),
        (server.url, TlsFiles(ca=server.folder / "policy" / "ca.pem")),
    ):
        async with Store.connect(url, login=server.login, tls=tls, deadline_s=3) as store:
            with pytest.raises(StoreSilent):
                await store.load_rules("site")


async def test_certificates_are_renewed_by_the_command_that_the_documents_name(server: Encrypted) -> None:
    async with Store.connect(server.url, login=server.login, tls=server.tls(), deadline_s=5) as store:
        await store.save_state("site", "r1", {"a": b"1"})
        before = server.serial()

        write_site(server.folder, rotate=True, nodes=None)
        admin, redis = server.folder / "admin", server.folder / "redis"
        done = subprocess.run(
            [
                server.client, "--user", "admin", "--tls", "--cacert", admin / "ca.pem", "--cert",
                admin / "certificate.pem", "--key", admin / "key.pem", "-h", "127.0.0.1", "-p", str(server.port),
                "CONFIG", "SET", "tls-key-file", redis / "key.pem", "tls-cert-file", redis / "certificate.pem",
            ],
            env=os.environ | {"REDISCLI_AUTH": (admin / "store.password").read_text().strip()},
            capture_output=True, text=True, timeout=20, check=False,
        )  # fmt: skip

        assert done.stdout == "OK\n", done.stderr
        assert server.serial() != before
        began_s = time.monotonic()
        assert await store.load_state("site", "r1") == {"a": b"1"}  # over the connection that was there
        assert time.monotonic() - began_s < 1.0
    async with Store.connect(server.url, login=server.login, tls=server.tls(), deadline_s=5) as store:
        assert await store.load_state("site", "r1") == {"a": b"1"}
