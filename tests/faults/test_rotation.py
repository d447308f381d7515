"""Certificates are renewed under a running site: no dead-man, no limit moves; and who is not believed is not obeyed."""

import asyncio
import signal
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from encrypted_site import NODES, Encrypted, encrypted_site
from installed_site import Installed, write_site
from live_site import Site, boot_ns, lines, until
from store_attempts import StoreAttempts

from easyrider import certificates
from easyrider.bus import Bus
from easyrider.bus_port import BusShut
from easyrider.guardian_link import GuardianLink
from easyrider.messages import NodeState
from easyrider.tls import TlsFiles
from easyrider_cli.rundir import RunFolder

pytestmark = [pytest.mark.system, pytest.mark.slow]


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Encrypted]:
    with encrypted_site(Path(tmp_path_factory.mktemp("r"))) as running:
        yield running


@dataclass(slots=True)
class Watch:
    """What both guardians say of themselves, and what the boards hold, ten times a second."""

    folder: RunFolder
    stages: set[int] = field(default_factory=set)
    newest: dict[str, NodeState] = field(default_factory=dict)

    def look(self, done: threading.Event) -> None:
        while not done.wait(0.1):
            for node in NODES:
                with GuardianLink.open(self.folder.guardian_socket(node)) as guardian:
                    state = guardian.state()
                self.newest[node] = state
                self.stages.add(state.stage)

    def grants(self) -> dict[str, tuple[int, int]]:
        """The highest word that each node took."""
        return {node: (state.highest_epoch, state.highest_seq) for node, state in self.newest.items()}

    def await_grants(self, count: int, within_s: float, what: str) -> None:
        """Each node takes so many more words of its coordinator."""
        until(lambda: len(self.newest) == len(NODES), 5, "a state of each node")
        first = self.grants()

        def more() -> bool:
            return all(seq - first[node][1] >= count for node, (_epoch, seq) in self.grants().items())

        until(more, within_s, what)


@contextmanager
def watched(site: Site) -> Iterator[Watch]:
    watch, done = Watch(site.folder), threading.Event()
    thread = threading.Thread(target=watch.look, args=(done,), daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        done.set()
        thread.join(5)


def shown_by_the_bus(installed: Installed) -> str:
    """The serial number of the certificate that the bus shows to somebody who connects now."""
    files = installed.folder / "policy"
    context = ssl.create_default_context(cafile=str(files / "ca.pem"))
    context.load_cert_chain(files / "certificate.pem", files / "key.pem")
    with socket.create_connection(("127.0.0.1", installed.nats.port), timeout=5) as link:
        link.recv(4096)  # its greeting, in plain text as ever
        with context.wrap_socket(link, server_hostname="127.0.0.1") as secure:
            return str(secure.getpeercert()["serialNumber"])  # type: ignore[index]


def settled(site: Site) -> dict[str, list[float]]:
    """Limits that have not moved for two seconds."""
    held, since_s = site.limits_w(), time.monotonic()

    def still() -> bool:
        nonlocal held, since_s
        if (now := site.limits_w()) != held:
            held, since_s = now, time.monotonic()
        return time.monotonic() - since_s > 2.0

    until(still, 60, "limits that stay")
    return held


def test_services_ask_bus_and_store_for_nothing_that_is_not_theirs(encrypted: Encrypted) -> None:
    installed = encrypted.installed
    settled(encrypted.site)

    admin = StoreAttempts(
        installed.redis.port, "admin", installed.login("admin").password_file.read_text().strip()
    )
    refused = admin.ask(("ACL", "LOG"))
    admin.close()
    assert refused == [b"*0\r\n"]
    for name in encrypted.site.stack.services():
        assert "the server forbids it" not in encrypted.site.folder.log(name).read_text(), name


def lost_since(site: Site, name: str) -> bool:
    """Whether a service ever told that its connection was cut."""
    return "connection lost" in site.folder.log(name).read_text()


def test_certificates_are_renewed_without_a_dead_man_trip_and_no_limit_moves(encrypted: Encrypted) -> None:
    site, installed = encrypted.site, encrypted.installed
    held, before, writes = settled(site), shown_by_the_bus(installed), site.writes()
    began_ns = boot_ns()

    with watched(site) as watch:
        until(lambda: len(watch.newest) == len(NODES), 5, "a state of each node")
        [epoch] = {epoch for epoch, _seq in watch.grants().values()}
        write_site(installed.folder, rotate=True, nodes=None)
        bus_reads_again(installed)  # who is connected stays so
        until(lambda: shown_by_the_bus(installed) != before, 5, "the new certificate")
        assert [name for name in site.stack.services() if lost_since(site, name)] == []
        # the store is started again: its clients come with their new certificates
        installed.front.renew()
        installed.front.cut()
        watch.await_grants(2, 6, "grants after the store came back")
        # and the bus: everybody connects anew, believes the new certificate, and shows one
        installed.nats.stop()
        installed.nats.start()
        watch.await_grants(3, 8, "grants over the new connections")

    assert watch.stages == {0}
    assert site.limits_w() == held
    assert site.writes() == writes
    assert not lines(site.folder.journal, "lead_lost", began_ns)
    assert {epoch for epoch, _seq in watch.grants().values()} == {epoch}  # the same leader all the time
    site.clean_so_far()


def lets_in(installed: Installed, seed: Path) -> bool:
    """Whether the bus lets in who has this seed, in a file named like its user."""

    async def knock() -> bool:
        files = installed.folder / "policy"
        tls = TlsFiles(ca=files / "ca.pem", certificate=files / "certificate.pem", key=files / "key.pem")
        try:
            async with Bus.connect(installed.nats_url, name="knocks", seed_file=seed, tls=tls, wait_s=2.0):
                return True
        except BusShut:
            return False

    return asyncio.run(knock())


def bus_reads_again(installed: Installed) -> None:
    installed.nats._process.send_signal(signal.SIGHUP)  # type: ignore[union-attr]


def store_reads_again(installed: Installed, password: str) -> None:
    """As an operator has it read its access list."""
    admin = StoreAttempts(installed.redis.port, "admin", password)
    assert admin.ask(("ACL", "LOAD")) == [b"+OK\r\n"]
    admin.close()


def test_keys_and_passwords_are_renewed_without_a_dead_man_trip_and_the_former_ones_end(
    encrypted: Encrypted, tmp_path: Path
) -> None:
    site, installed = encrypted.site, encrypted.installed
    held, writes, began_ns = settled(site), site.writes(), boot_ns()
    former = tmp_path / "forecaster.nk"
    former.write_bytes(installed.seed("forecaster").read_bytes())
    password = installed.login("admin").password_file.read_text().strip()

    with watched(site) as watch:
        until(lambda: len(watch.newest) == len(NODES), 5, "a state of each node")
        [epoch] = {epoch for epoch, _seq in watch.grants().values()}
        cut = [name for name in site.stack.services() if lost_since(site, name)]
        write_site(installed.folder, rotate_seeds=True, nodes=None)
        bus_reads_again(installed)
        store_reads_again(installed, password)
        watch.await_grants(2, 6, "grants over connections of the former keys")
        assert [name for name in site.stack.services() if lost_since(site, name)] == cut
        assert lets_in(installed, former)
        # everybody connects again and shows what is new
        installed.front.cut()
        installed.nats.stop()
        installed.nats.start()
        watch.await_grants(3, 8, "grants over connections of the new keys")

        write_site(installed.folder, retire_seeds=True, nodes=None)
        bus_reads_again(installed)
        store_reads_again(installed, installed.login("admin").password_file.read_text().strip())
        until(lambda: not lets_in(installed, former), 5, "the former key to open nothing")
        watch.await_grants(3, 6, "grants once the former keys are gone")

    assert watch.stages == {0}
    assert site.limits_w() == held
    assert site.writes() == writes
    assert not lines(site.folder.journal, "lead_lost", began_ns)
    assert {epoch for epoch, _seq in watch.grants().values()} == {epoch}
    refused = StoreAttempts(installed.redis.port, "admin", password)
    assert refused.greeting.startswith(b"-WRONGPASS")
    refused.close()
    site.clean_so_far()


def test_a_bus_that_nobody_believes_is_obeyed_by_nobody_and_the_dead_man_comes(encrypted: Encrypted) -> None:
    site, installed = encrypted.site, encrypted.installed
    here = installed.folder / "nats"
    good = {name: (here / name).read_bytes() for name in ("certificate.pem", "key.pem", "ca.pem")}
    now = certificates.today()
    strange = certificates.make_authority("EasyRider site authority", now)
    bad = certificates.issue_server(strange, "nats", ["127.0.0.1"], now)
    installed.nats.stop()
    (here / "certificate.pem").write_bytes(bad.certificate)
    (here / "key.pem").write_bytes(bad.key)
    installed.nats.start()

    try:
        with watched(site) as watch:
            until(lambda: 1 in watch.stages, 15, "the first stage of the dead-man")
        told = (site.folder.log("actuator-node-1")).read_text()
        assert "not signed by the authority in ca_file" in told or "connection lost" in told
    finally:
        installed.nats.stop()
        for name, text in good.items():
            (here / name).write_bytes(text)
        installed.nats.start()

    with watched(site) as watch:
        watch.await_grants(2, 20, "grants again")
        assert {state.stage for state in watch.newest.values()} == {0}
    site.clean_so_far()
