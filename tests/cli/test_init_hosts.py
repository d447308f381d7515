"""What `easyrider init` takes for the name of a server."""

import subprocess
import sys
from pathlib import Path

import pytest

from easyrider_cli.init_hosts import is_address, is_name


@pytest.mark.parametrize(
    "host", ["localhost", "bus.example", "node-7", "redis_1", "xn--bcher-kva.example", "10-0-0-1.x"]
)
def test_names_of_the_dns_are_taken(host: str) -> None:
    assert is_name(host)


@pytest.mark.parametrize("host", ["10.0.0.1", "::1", "fd00::12", "0.0.0.0"])
def test_addresses_are_taken(host: str) -> None:
    assert is_address(host)


@pytest.mark.parametrize(
    "host",
    ["", " ", "a b", "bus.example.", "a..b", "-a", "a-", "10.0.0.300", "1.2.3", "[::1]", "fe80::1%eth0", "*.example",
     "bus.example:4222", "tls://bus", "bücher.example", "a/b", "a\nb", "x" * 64, ".".join(["x" * 60] * 5)],
)  # fmt: skip
def test_what_is_neither_is_not(host: str) -> None:
    assert not is_name(host)
    assert not is_address(host)


def test_the_command_line_refuses_one_in_a_line(tmp_path: Path) -> None:
    words = ["init", str(tmp_path / "site"), "--nodes", "n1", "--host", "no such host!"]

    done = subprocess.run(
        [sys.executable, "-m", "easyrider_cli", *words],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "--host 'no such host!' is neither an IP address nor a DNS name" in done.stderr
    assert list(tmp_path.iterdir()) == []
