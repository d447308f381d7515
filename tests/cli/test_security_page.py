"""What docs/security.md tells is what the code grants, and its commands do what it says."""

import re
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from bus_attempts import Attempts
from installed_site import Installed, site_installed, until, write_site
from store_attempts import StoreAttempts

from easyrider import access_tables
from easyrider.tls import TlsFiles

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()
EASYRIDER = Path(sys.executable).parent / "easyrider"


def test_the_tables_are_those_of_the_code() -> None:
    assert access_tables.written_into(PAGE) == PAGE, "write it anew: make docs"
    assert "| policy |" in PAGE


def test_its_commands_work_one_after_the_other_as_they_stand(tmp_path: Path) -> None:
    install = (ROOT / "docs" / "install.md").read_text()
    [text] = [b for b in re.findall(r"^```yaml\n(.*?)^```", install, re.M | re.S) if b.startswith("tree:")]
    rules = yaml.safe_load(text)
    rules["regions"] = [
        {"id": "top"},
        {"id": "east", "parent": "top", "domain": rules["nodes"][0]["domain"], "guaranteed_w": 9000},
    ]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rules))
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)
    assert len(blocks) == 6

    for block in blocks:
        for line in block.splitlines():
            assert line.startswith("easyrider init ")
            done = subprocess.run(
                [EASYRIDER, *line.split()[1:]], cwd=tmp_path, capture_output=True, text=True, timeout=60
            )
            assert done.returncode == 0, done.stderr

    assert stat.S_IMODE((tmp_path / "site" / "api" / "store.password").stat().st_mode) == 0o640
    assert (tmp_path / "hall" / "nats-east" / "link-east.nk").exists()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    with site_installed(Path(tmp_path_factory.mktemp("site"))) as running:
        yield running


def test_a_key_that_was_seen_opens_nothing_once_it_is_replaced(site: Installed, tmp_path: Path) -> None:
    here = site.folder / "dashboard"
    tls = TlsFiles(ca=here / "ca.pem", certificate=here / "certificate.pem", key=here / "key.pem").context()
    stolen = Path(shutil.copy(here / "dashboard.nk", tmp_path / "dashboard.nk"))
    thief = Attempts(site.nats.port, stolen, tls)
    others = {f: f.read_bytes() for f in site.folder.glob("*/*.nk") if f.parent != here}

    (here / "dashboard.nk").unlink()
    write_site(site.folder, add=True, nodes=None)
    site.nats._process.send_signal(signal.SIGHUP)  # type: ignore[union-attr]

    def cut() -> bool:
        try:
            thief.answered()
        except (ConnectionError, OSError):
            return True
        return False

    until(cut, 10, "the thief's connection is ended")
    with pytest.raises((ConnectionError, OSError)):
        Attempts(site.nats.port, stolen, tls)
    Attempts(site.nats.port, here / "dashboard.nk", tls).close()
    thief.close()
    assert {f: f.read_bytes() for f in others} == others


def test_a_password_that_was_seen_opens_nothing_once_it_is_replaced(site: Installed) -> None:
    def password(user: str) -> str:
        return site.login(user).password_file.read_text().strip()

    stolen = password("forecaster")
    admin = StoreAttempts(site.redis.port, "admin", password("admin"))

    site.login("forecaster").password_file.unlink()
    write_site(site.folder, add=True, nodes=None)
    assert admin.ask(("ACL", "LOAD")) == [b"+OK\r\n"]

    admin.close()
    for user, shown, answer in (
        ("forecaster", stolen, b"-WRONGPASS"),
        ("forecaster", password("forecaster"), b"+OK"),
        ("policy", password("policy"), b"+OK"),
    ):
        link = StoreAttempts(site.redis.port, user, shown)
        assert link.greeting.startswith(answer), user
        link.close()
