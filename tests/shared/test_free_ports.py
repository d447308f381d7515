"""A port that is chosen now and listened on later is taken by nobody in between."""

import secrets
import socket
from pathlib import Path

import pytest

from easyrider import free_ports
from easyrider.free_ports import free_port


def test_no_port_is_given_twice_and_each_can_be_listened_on() -> None:
    ports = [free_port() for _ in range(50)]

    assert len(set(ports)) == 50
    for port in ports:
        socket.create_server(("127.0.0.1", port)).close()


def test_no_outgoing_connection_can_be_given_one_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = tmp_path / "range"
    said.write_text("20000\t30000\n")
    monkeypatch.setattr(free_ports, "_RANGE", said)

    assert all(free_port() < 20_000 for _ in range(20))


@pytest.mark.parametrize("text", ["1024 65535", "", "x"])
def test_where_the_kernel_leaves_none_it_is_any_that_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    said = tmp_path / "range"
    said.write_text(text)
    monkeypatch.setattr(free_ports, "_RANGE", said)

    with socket.create_server(("127.0.0.1", free_port())):
        pass


def test_a_port_that_is_listened_on_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", free_port())) as taken:
        busy, free = taken.getsockname()[1], free_port()
        choices = iter([busy, free + 1 if free + 1 != busy else free + 2])
        monkeypatch.setattr(secrets, "randbelow", lambda _: next(choices) - free_ports._LOWEST)

        assert free_port() != busy
