"""Who is let in on the link that only speaks, what it may say, and to whom it says nothing: keys, permissions, TLS."""

import asyncio
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from installed_site import Installed, site_installed
from speaking_voice import HEAD, MakeVoice, hold, voices

from easyrider import subjects
from easyrider.bus import Bus
from easyrider.nats_config import make_nkeys, nats_config, seed_file, site_users
from easyrider.speaking_link import head_of
from easyrider.testing.servers import nats_server
from easyrider.tls import TlsFiles


@pytest.fixture
def voice() -> Iterator[MakeVoice]:
    with voices() as make:
        yield make


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, str]:
    return make_nkeys(tmp_path, ["telemetry-n1", "telemetry-n2", "forecaster"])


async def test_it_says_what_its_key_allows_and_is_told_what_it_does_not(
    keys: dict[str, str], tmp_path: Path, voice: MakeVoice
) -> None:
    own, foreign = subjects.phase("r1", "n1"), subjects.phase("r1", "n2")
    heard: list[str] = []
    users = site_users("r1", ("n1", "n2"), keys)
    with nats_server(lambda port: nats_config(users, port, tmp_path / "js")) as server:
        seed = seed_file(tmp_path, "forecaster")
        async with Bus.connect(server.url, name="forecaster", seed_file=seed) as bus:
            await bus.listen(subjects.phases_in("r1"), lambda _d, a: heard.append(a.subject))
            v = voice(server.url, seed_file=seed_file(tmp_path, "telemetry-n1"))
            await v.until(lambda: v.link.connected)

            v.link.say(head_of(foreign), b"x")
            v.link.say(head_of(own), b"x")

            await v.until(lambda: heard and v.says("forbidden"))
    assert heard == [own]
    assert foreign in v.says("forbidden")[0]
    assert not v.says("lost")


async def test_a_stranger_is_turned_away_and_goes_on_trying_until_its_key_is_known(
    keys: dict[str, str], tmp_path: Path, voice: MakeVoice
) -> None:
    stranger = tmp_path / "stranger"
    make_nkeys(stranger, ["telemetry-n1"])
    users = site_users("r1", ("n1",), keys)
    with nats_server(lambda port: nats_config(users, port, tmp_path / "js")) as server:
        v = voice(server.url, seed_file=seed_file(stranger, "telemetry-n1"))
        await v.until(lambda: len(v.says("waits")) >= 2)
        assert "Authorization Violation" in v.says("waits")[0]
        assert not v.link.say(HEAD, hold(1))

        seed_file(tmp_path, "telemetry-n1").replace(seed_file(stranger, "telemetry-n1"))

        await v.until(lambda: v.link.connected)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    with site_installed(Path(tmp_path_factory.mktemp("speaking"))) as running:
        yield running


def shown(site: Installed, user: str) -> TlsFiles:
    here = site.folder / user
    return TlsFiles(ca=here / "ca.pem", certificate=here / "certificate.pem", key=here / "key.pem")


async def test_at_an_installed_site_it_speaks_tls_with_its_own_certificate_and_key(
    site: Installed, voice: MakeVoice
) -> None:
    subject, heard = subjects.phase("r1", "n1"), []
    async with Bus.connect(
        site.nats_url, name="forecaster", seed_file=site.seed("forecaster"), tls=shown(site, "forecaster")
    ) as bus:
        await bus.listen(subjects.phases_in("r1"), lambda data, _a: heard.append(data))
        v = voice(site.nats_url, seed_file=site.seed("telemetry-n1"), tls=shown(site, "telemetry-n1"))
        await v.until(lambda: v.link.connected)

        bodies = [bytes([k]) * 5_000 for k in range(10)]  # what the kernel takes of a slow server
        said = [v.link.say(head_of(subject), body) for body in bodies]

        await v.until(lambda: len(heard) == 10)
    assert all(said)
    assert heard == bodies


async def test_over_tls_too_half_a_message_is_ended_before_another_begins(
    site: Installed, voice: MakeVoice
) -> None:
    subject, heard = subjects.phase("r1", "n1"), []
    async with Bus.connect(
        site.nats_url, name="forecaster", seed_file=site.seed("forecaster"), tls=shown(site, "forecaster")
    ) as bus:
        await bus.listen(subjects.phases_in("r1"), lambda data, _a: heard.append(data))
        v = voice(site.nats_url, seed_file=site.seed("telemetry-n1"), tls=shown(site, "telemetry-n1"))
        await v.until(lambda: v.link.connected)
        site.nats.freeze()
        try:
            bodies = [os.urandom(60_000) for _ in range(300)]
            said = [body for body in bodies if v.link.say(head_of(subject), body)]
        finally:
            site.nats.thaw()
        assert 0 < len(said) < len(bodies)

        await v.until(lambda: v.link.say(head_of(subject), b"last") and heard, tend=False)
        await v.until(lambda: heard[-1] == b"last", 10.0)
    assert [body for body in heard if body != b"last"] == said
    assert not v.says("lost")


async def test_a_server_without_tls_is_told_nothing_where_tls_is_asked_for(
    site: Installed, voice: MakeVoice
) -> None:
    told = bytearray()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            link, _ = server.accept()
            with link:
                link.sendall(b'INFO {"max_payload": 1048576, "nonce": "abc"}\r\n')
                while data := link.recv(4096):
                    told.extend(data)

        thread = threading.Thread(target=serve)
        thread.start()
        port = server.getsockname()[1]
        v = voice(
            f"tls://127.0.0.1:{port}", seed_file=site.seed("telemetry-n1"), tls=shown(site, "telemetry-n1")
        )

        await v.until(lambda: v.says("waits"))
        await asyncio.to_thread(thread.join, 5)

    assert "plain text" in v.says("waits")[0]
    assert bytes(told) == b""


async def test_a_server_signed_by_nobody_known_is_not_believed(site: Installed, voice: MakeVoice) -> None:
    v = voice(site.nats_url, seed_file=site.seed("telemetry-n1"), tls=TlsFiles())

    await v.until(lambda: v.says("waits"))

    assert "not signed by the authority" in v.says("waits")[0]
