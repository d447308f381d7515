"""No secret is ever said: what a site writes and shows is searched for all of its secrets, whatever breaks."""

import base64
import os
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from encrypted_site import Encrypted, encrypted_site
from live_site import Site, until

pytestmark = [pytest.mark.system, pytest.mark.slow]

WRONG = "canary-6f1c0de5-not-the-password"
"""Shown in the place of the real one: what is wrong is no more anybody's business than what is right."""
SERVICES = {
    "easyrider_policy": "EASYRIDER_POLICY_",
    "easyrider_forecaster": "EASYRIDER_FORECASTER_",
    "easyrider_telemetry": "EASYRIDER_TELEMETRY_",
    "easyrider_actuator": "EASYRIDER_ACTUATOR_",
    "easyrider_infra_bridge": "EASYRIDER_INFRA_BRIDGE_",
    "easyrider_policy_api": "EASYRIDER_POLICY_API_",
    "easyrider_recorder": "EASYRIDER_RECORDER_",
}


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Encrypted]:
    with encrypted_site(Path(tmp_path_factory.mktemp("c"))) as running:
        yield running


def secrets_of(folder: Path) -> set[bytes]:
    """Every seed, password, token and private key of an installation, and what was shown in a password's place."""
    found = {WRONG.encode()}
    for file in folder.rglob("*"):
        if file.suffix in (".nk", ".password", ".token"):
            found.add(file.read_bytes().strip())
        elif file.name.endswith((".key", "key.pem")):
            found.update(line for line in file.read_bytes().splitlines() if not line.startswith(b"-----"))
    assert len(found) > 20
    return found


def forms(secret: bytes) -> set[bytes]:
    """The secret as it is, and as addresses, headers and dumps carry it."""
    coded = base64.b64encode(secret)
    return {
        secret,
        coded.rstrip(b"="),
        urllib.parse.quote(secret, safe="").encode(),
        secret.hex().encode(),
        secret[:24],
    }


def told_by(site: Site, installed_root: Path) -> dict[str, bytes]:
    """Everything that is written or shown, but the secrets' own files."""
    told: dict[str, bytes] = {}
    for root in (site.folder.root, installed_root / "nats-data", installed_root / "redis-data"):
        for file in root.rglob("*"):
            if file.is_file() and file.stat().st_size < 50_000_000 and file.name != "nvml.state":
                told[str(file)] = file.read_bytes()
    for name in site.stack.services():
        address = site.folder.health(name).read_text().strip()
        for door in ("metrics", "ready", "live"):
            try:
                with urllib.request.urlopen(f"http://{address}/{door}", timeout=5) as answer:
                    told[f"{name} /{door}"] = answer.read()
            except urllib.error.HTTPError as unready:
                told[f"{name} /{door}"] = unready.read()
    servers = [server.pid for server in site.stack.servers.by_name.values() if server.running]
    for pid in [*servers, *(child.pid for child in site.stack.children.values() if child.running())]:
        for view in ("cmdline", "environ", "comm"):
            told[f"pid {pid} {view}"] = Path(f"/proc/{pid}/{view}").read_bytes()
    return told


def leaks(told: dict[str, bytes], secrets: set[bytes]) -> list[str]:
    wanted = {form for secret in secrets for form in forms(secret)}
    return sorted({where for where, text in told.items() for form in wanted if form in text})


def test_the_search_finds_what_is_there(encrypted: Encrypted) -> None:
    secret = (encrypted.installed.folder / "policy" / "store.password").read_bytes().strip()

    for form in forms(secret):
        assert leaks({"a log": b"... " + form + b" ..."}, {secret}) == ["a log"]


def test_nothing_that_a_site_writes_or_shows_holds_a_secret_whatever_breaks(encrypted: Encrypted) -> None:
    site, installed = encrypted.site, encrypted.installed
    secrets = secrets_of(installed.folder)
    log = site.folder.log("policy")
    password_file = installed.folder / "policy" / "store.password"
    password = password_file.read_text()

    password_file.write_text(WRONG + "\n")
    installed.front.cut()
    until(
        lambda: "WRONGPASS" in log.read_text() or "invalid username" in log.read_text(),
        20,
        "a refused password",
    )
    password_file.unlink()
    installed.front.cut()
    until(lambda: "cannot be read" in log.read_text(), 20, "a password that is missing")
    password_file.write_text(password)
    installed.nats.kill()
    until(lambda: "connection lost" in site.folder.log("actuator-node-1").read_text(), 20, "a lost bus")
    while_down = told_by(site, installed.folder.parent)
    installed.nats.start()
    installed.redis.kill()
    installed.redis.start()

    assert leaks(while_down, secrets) == []
    assert leaks(told_by(site, installed.folder.parent), secrets) == []
    assert len(while_down) > 30


@pytest.mark.parametrize("module", SERVICES)
def test_wrong_settings_are_told_without_the_secrets_they_hold(
    encrypted: Encrypted, tmp_path: Path, module: str
) -> None:
    prefix = SERVICES[module]
    (tmp_path / "canary.nk").write_text(WRONG)
    (tmp_path / "canary.pem").write_text(f"-----BEGIN PRIVATE KEY-----\n{WRONG}\n-----END PRIVATE KEY-----\n")
    wrong = {
        "NATS_URL": f"tls://anna:{WRONG}@bus.example:4222",
        "REDIS_URL": f"rediss://anna:{WRONG}@store.example:6379/0",
        "SEED_FILE": str(tmp_path / "canary.nk"),
        "CA_FILE": str(tmp_path / "canary.pem"),
        "KEY_FILE": str(tmp_path / "canary.pem"),
        "CERTIFICATE_FILE": str(tmp_path / "canary.pem"),
    }
    environ = os.environ | {f"{prefix}{name}": value for name, value in wrong.items()}

    for arguments in ((), ("--help",)):
        done = subprocess.run(
            [sys.executable, "-m", module, *arguments],
            env=environ,
            capture_output=True,
            timeout=60,
            check=False,
        )

        assert done.returncode == (0 if arguments else 2)
        assert leaks({"stdout": done.stdout, "stderr": done.stderr}, {WRONG.encode()}) == []
