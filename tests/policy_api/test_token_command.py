"""`easyrider token`: made in the store by whoever may write there, used at the API, revoked within seconds."""

import json
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from installed_site import Installed, site_installed

from easyrider import tokens
from easyrider.testing.servers import redis_server

pytestmark = pytest.mark.system


def easyrider(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "easyrider_cli", "token", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with redis_server() as store:
        yield store.url


def test_a_token_is_shown_once_listed_and_revoked(url: str) -> None:
    made = easyrider("create", "anna", "--role", "operator", "--redis-url", url, "--tree", "t1")
    listed = easyrider("list", "--json", "--redis-url", url, "--tree", "t1")
    gone = easyrider("revoke", "anna", "--redis-url", url, "--tree", "t1")
    after = easyrider("list", "--json", "--redis-url", url, "--tree", "t1")

    assert made.returncode == 0, made.stderr
    assert tokens.well_formed(made.stdout.strip())
    (known,) = json.loads(listed.stdout)
    assert (known["name"], known["role"], known["revoked"]) == ("anna", "operator", None)
    assert made.stdout.strip() not in listed.stdout + made.stderr + gone.stderr
    assert gone.returncode == 0, gone.stderr
    assert json.loads(after.stdout)[0]["revoked"]


def test_a_token_goes_into_a_file_that_its_owner_alone_reads(url: str, tmp_path: Path) -> None:
    out = tmp_path / "anna.token"

    made = easyrider("create", "anna", "--redis-url", url, "--tree", "t2", "--out", str(out))
    again = easyrider("create", "anna", "--redis-url", url, "--tree", "t2", "--out", str(out))

    assert made.returncode == 0
    assert made.stdout == ""
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert tokens.well_formed(out.read_text().strip())
    assert again.returncode == 2  # what is there is not written over


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["create", "with space"], "name"),
        (["create", "anna", "--role", "root"], "role"),
        (["create", "anna", "--role", "admin", "--tenant", "t"], "tenant"),
        (["revoke", "nobody"], "no token has it"),
    ],
)
def test_what_makes_no_sense_is_one_line_and_exit_2(url: str, words: list[str], told: str) -> None:
    done = easyrider(*words, "--redis-url", url, "--tree", "t3")

    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_store_that_is_not_there_is_one_line() -> None:
    done = easyrider("list", "--redis-url", "redis://127.0.0.1:1/0")

    assert done.returncode == 2
    assert "silent" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Installed]:
    with site_installed(tmp_path / "installed") as site:
        yield site


def test_in_an_installation_the_folder_is_all_it_needs(site: Installed) -> None:
    made = easyrider("create", "anna", "--installation", str(site.folder))
    listed = easyrider("list", "--json", "--installation", str(site.folder))

    assert made.returncode == 0, made.stderr
    assert [token["name"] for token in json.loads(listed.stdout)] == ["anna"]
