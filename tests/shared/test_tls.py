"""Whoever is not believed is not spoken to: wrong authority, expired, another name, no TLS at all; never plain text."""

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
import structlog.testing
from installed_site import Installed, TlsFront, site_installed

from easyrider import certificates, log
from easyrider.bus import Bus, BusDown
from easyrider.bus_client import PromptClient
from easyrider.certificates import Issued, issue_client, issue_server, make_authority, today
from easyrider.store import Store
from easyrider.store_port import StoreSilent
from easyrider.tls import TlsFiles

NOW = today()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    with site_installed(Path(tmp_path_factory.mktemp("site"))) as running:
        yield running


def shown(site: Installed, user: str = "policy") -> TlsFiles:
    here = site.folder / user
    return TlsFiles(ca=here / "ca.pem", certificate=here / "certificate.pem", key=here / "key.pem")


def lay(folder: Path, issued: Issued, authority: Issued) -> TlsFiles:
    """The files of one side, as they lie on a disk."""
    folder.mkdir(exist_ok=True)
    (folder / "certificate.pem").write_bytes(issued.certificate)
    (folder / "key.pem").write_bytes(issued.key)
    (folder / "ca.pem").write_bytes(authority.certificate)
    return TlsFiles(ca=folder / "ca.pem", certificate=folder / "certificate.pem", key=folder / "key.pem")


def authority_of(site: Installed) -> Issued:
    here = site.folder / "authority"
    return Issued((here / "ca.pem").read_bytes(), (here / "ca.key").read_bytes())


def bad_servers(site: Installed) -> dict[str, tuple[Issued, str]]:
    """Certificates that a server may show and must not be believed, each with what is said of it."""
    ours, theirs = authority_of(site), make_authority("EasyRider site authority", NOW)
    here = ["127.0.0.1", "localhost"]
    return {
        "another authority of the same name": (
            issue_server(theirs, "nats", here, NOW),
            "not signed by the authority",
        ),
        "expired": (issue_server(ours, "nats", here, NOW - timedelta(days=400), 30), "has expired"),
        "not valid yet": (issue_server(ours, "nats", here, NOW + timedelta(days=2)), "not valid yet"),
        "another name": (issue_server(ours, "nats", ["10.9.8.7", "elsewhere"], NOW), "for another name"),
        "a client's": (issue_client(ours, "policy", NOW), "not believed"),
    }


BAD = ("another authority of the same name", "expired", "not valid yet", "another name", "a client's")


@dataclass(slots=True)
class Impostor:
    """Speaks NATS's greeting and then TLS with a certificate of its own, or no TLS; keeps every byte it is told."""

    port: int
    told: bytearray


@asynccontextmanager
async def impostor(files: TlsFiles | None) -> AsyncIterator[Impostor]:
    told = bytearray()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        info = {
            "server_id": "x",
            "version": "2.11.0",
            "max_payload": 1048576,
            "tls_required": files is not None,
        }
        writer.write(b"INFO " + json.dumps(info | {"nonce": "abc"}).encode() + b"\r\n")
        with suppress(OSError, ConnectionError):
            if files is not None:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(str(files.certificate), str(files.key))
                await writer.start_tls(context)
            while data := await reader.read(4096):
                told.extend(data)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield Impostor(server.sockets[0].getsockname()[1], told)


async def turned_away(url: str, site: Installed, tls: TlsFiles | None) -> str:
    """Why a bus at this address is not spoken to, in the one line that is logged; it is tried again all the time."""
    log._allowed_again_s.clear()  # lines are told once a minute
    bus = Bus.connect(url, name="policy", seed_file=site.seed("policy"), tls=tls, wait_s=0.9)
    with structlog.testing.capture_logs() as lines, pytest.raises(BusDown):
        await bus.__aenter__()
    [line] = [line for line in lines if "no bus at" in line["event"]]
    assert "trying for ever" in line["event"]
    return str(line["why"])


@pytest.mark.parametrize("which", BAD)
async def test_a_bus_that_cannot_prove_itself_is_told_nothing(
    site: Installed, tmp_path: Path, which: str
) -> None:
    certificate, expected = bad_servers(site)[which]
    files = lay(tmp_path / "bad", certificate, authority_of(site))

    async with impostor(files) as server:
        why = await turned_away(f"tls://127.0.0.1:{server.port}", site, shown(site))

    assert bytes(server.told) == b""
    assert expected in why


@pytest.mark.parametrize("which", BAD)
async def test_a_store_that_cannot_prove_itself_is_told_nothing_and_why_is_said(
    site: Installed, tmp_path: Path, which: str
) -> None:
    certificate, expected = bad_servers(site)[which]
    lay(tmp_path / "bad", certificate, authority_of(site))

    with TlsFront(site.redis.port, tmp_path / "bad", ask_clients=False) as front:
        url = f"rediss://127.0.0.1:{front.port}/0"
        async with Store.connect(url, login=site.login("policy"), tls=shown(site), deadline_s=5) as store:
            with pytest.raises(StoreSilent) as caught:
                await store.load_rules("site")

    assert expected in str(caught.value)
    assert "Traceback" not in str(caught.value)


async def test_a_bus_in_plain_text_is_told_nothing_where_tls_is_asked_for(site: Installed) -> None:
    for tls, scheme in ((shown(site), "tls"), (shown(site), "nats"), (None, "tls")):
        async with impostor(None) as server:
            why = await turned_away(f"{scheme}://127.0.0.1:{server.port}", site, tls)
        assert bytes(server.told) == b"", scheme
        assert why == "the server speaks plain text where TLS is asked for; nothing was said to it"


async def test_without_that_guard_the_library_would_go_on_in_plain_text(
    site: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(PromptClient, "_process_info")

    async with impostor(None) as server:
        url = f"tls://127.0.0.1:{server.port}"
        bus = Bus.connect(url, name="policy", seed_file=site.seed("policy"), tls=shown(site), wait_s=0.5)
        with pytest.raises(BusDown):
            await bus.__aenter__()

    assert server.told.startswith(b"CONNECT")


async def test_plain_text_and_clients_without_a_good_certificate_are_not_let_in(
    site: Installed, tmp_path: Path
) -> None:
    ours, theirs = authority_of(site), make_authority("EasyRider site authority", NOW)
    clients: dict[str, TlsFiles] = {
        "none": TlsFiles(ca=site.folder / "policy" / "ca.pem"),
        "expired": lay(tmp_path / "e", issue_client(ours, "policy", NOW - timedelta(days=400), 30), ours),
        "stranger": lay(tmp_path / "s", issue_client(theirs, "policy", NOW), ours),
        "server": lay(tmp_path / "r", issue_server(ours, "policy", ["127.0.0.1"], NOW), ours),
    }
    for which, files in clients.items():
        assert await turned_away(site.nats_url, site, files), which
        async with Store.connect(
            site.redis_url, login=site.login("policy"), tls=files, deadline_s=2
        ) as store:
            with pytest.raises(StoreSilent):
                await store.load_rules("site")
    with socket.create_connection(("127.0.0.1", site.nats.port), timeout=5) as plain:
        plain.sendall(b'CONNECT {"verbose":false}\r\nPUB easyrider.v1.command.r1.n1 1\r\nx\r\nPING\r\n')
        answer = b""
        while chunk := plain.recv(4096):
            answer += chunk
    assert b"PONG" not in answer


async def test_a_renewed_certificate_is_taken_up_without_a_restart(site: Installed, tmp_path: Path) -> None:
    certificate, _why = bad_servers(site)["expired"]
    lay(tmp_path / "front", certificate, authority_of(site))
    with TlsFront(site.redis.port, tmp_path / "front", ask_clients=False) as front:
        url = f"rediss://127.0.0.1:{front.port}/0"
        async with Store.connect(url, login=site.login("policy"), tls=shown(site), deadline_s=5) as store:
            with pytest.raises(StoreSilent):
                await store.load_rules("site")

            lay(
                tmp_path / "front",
                issue_server(authority_of(site), "redis", ["127.0.0.1"], NOW),
                authority_of(site),
            )
            front.renew()

            assert await store.load_rules("site") is None


def test_certificates_last_no_longer_than_their_authority(site: Installed) -> None:
    short = make_authority("short", NOW, days=10)

    issued = issue_server(short, "nats", ["localhost"], NOW, days=397)

    assert certificates.expires(issued.certificate) == certificates.expires(short.certificate)
