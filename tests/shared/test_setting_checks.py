"""Text and paths are judged with the rest of the settings, before anything is opened."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from easyrider import address_checks, nats_config, setting_checks
from easyrider.config import from_env, setting
from easyrider.errors import BadConfig


@dataclass(frozen=True, kw_only=True)
class Config:
    node: str = setting(help="", fit=setting_checks.subject_token)
    nats_url: str = setting("nats://127.0.0.1:4222", help="", fit=address_checks.nats_address)
    redis_url: str = setting("redis://127.0.0.1:6379/0", help="", fit=address_checks.redis_address)
    seed_file: Path | None = setting(None, help="", fit=setting_checks.seed_file)
    tree_file: Path | None = setting(None, help="", fit=setting_checks.readable_file)
    health_file: Path | None = setting(None, help="", fit=setting_checks.folder_for_file)
    phase_socket: Path | None = setting(None, help="", fit=setting_checks.folder_for_socket)
    state_dir: Path | None = setting(None, help="", fit=setting_checks.own_folder)


def read(**values: object) -> Config:
    return from_env(Config, {f"X_{name.upper()}": str(value) for name, value in values.items()}, "X_")


def fault_of(**values: object) -> str:
    with pytest.raises(BadConfig) as caught:
        read(**{"node": "n1", **values})
    (fault,) = caught.value.faults
    return fault


def test_what_fits_is_taken(tmp_path: Path) -> None:
    nats_config.make_nkeys(tmp_path, ["policy"])

    found = read(
        node="n-1",
        nats_url="nats://a:4222,tls://b",
        redis_url="rediss://[::1]:6379/3",
        seed_file=nats_config.seed_file(tmp_path, "policy"),
        health_file=tmp_path / "health",
        phase_socket=tmp_path / "phases",
        state_dir=tmp_path / "state",
    )

    assert found.node == "n-1"
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("name", ["", "a.b", "a b", "*", "x" * 65])
def test_a_name_that_cannot_stand_in_a_subject_is_refused(name: str) -> None:
    assert "X_NODE" in fault_of(node=name)
    assert "cannot stand in a subject" in fault_of(node=name)


@pytest.mark.parametrize(
    ("setting_name", "text"),
    [
        ("nats_url", "garbage"),
        ("nats_url", ""),
        ("nats_url", "http://host:4222"),
        ("nats_url", "nats://"),
        ("nats_url", "nats://host:99999"),
        ("nats_url", "nats://host:port"),
        ("nats_url", "nats://host:0"),
        ("nats_url", "nats://a,b"),
        ("nats_url", "nats://[::1"),
        ("redis_url", "nats://host:6379"),
        ("redis_url", "redis://host:99999"),
        ("redis_url", "redis://host/first"),
    ],
)
def test_what_is_no_address_of_its_kind_is_refused(setting_name: str, text: str) -> None:
    assert fault_of(**{setting_name: text}).startswith(f"X_{setting_name.upper()} ")


@pytest.mark.parametrize(
    ("setting_name", "text"),
    [
        ("nats_url", "tls://anna:geheim@host:4222"),
        ("nats_url", "tls://host:4222,tls://geheim@host"),
        ("nats_url", "nats://anna:geheim"),
        ("redis_url", "rediss://:geheim@host:6379/0"),
        ("redis_url", "redis://anna:geheim@127.0.0.1:6379"),
        ("redis_url", "redis://:geheim"),
    ],
)
def test_a_secret_in_an_address_is_refused_and_not_repeated(setting_name: str, text: str) -> None:
    told = fault_of(**{setting_name: text})

    assert told.startswith(f"X_{setting_name.upper()} ")
    assert "geheim" not in told


@pytest.mark.parametrize("content", ["", "no seed", "SUABC", "\x00\xff"])
def test_a_seed_file_that_holds_no_seed_is_refused_without_a_word_of_what_it_holds(
    tmp_path: Path, content: str
) -> None:
    file = tmp_path / "policy.nk"
    file.write_text(content)

    assert fault_of(seed_file=file) == f"X_SEED_FILE {file} holds no nkey seed of a user (SU...)"


def test_a_seed_with_one_letter_changed_is_refused(tmp_path: Path) -> None:
    nats_config.make_nkeys(tmp_path, ["policy"])
    file = nats_config.seed_file(tmp_path, "policy")
    seed = file.read_text().strip()
    file.chmod(0o600)
    file.write_text(seed[:20] + ("A" if seed[20] != "A" else "B") + seed[21:])

    assert "holds no nkey seed" in fault_of(seed_file=file)


@pytest.mark.parametrize("name", ["seed_file", "tree_file"])
def test_a_file_that_is_not_there_is_refused(tmp_path: Path, name: str) -> None:
    assert "cannot be read: No such file" in fault_of(**{name: tmp_path / "nothing"})


@pytest.mark.parametrize("name", ["health_file", "phase_socket", "state_dir"])
def test_a_place_in_a_missing_folder_is_refused_and_no_folder_is_made(tmp_path: Path, name: str) -> None:
    assert "which is missing" in fault_of(**{name: tmp_path / "not" / "there"})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["health_file", "phase_socket", "state_dir"])
def test_a_place_below_a_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")

    assert "which is no folder" in fault_of(**{name: tmp_path / "file" / "there"})


@pytest.mark.parametrize("name", ["health_file", "phase_socket", "state_dir"])
def test_a_place_that_may_not_be_written_is_refused(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setting_checks.os, "access", lambda *_: False)  # the tests may run as root

    assert "may not be written in" in fault_of(**{name: tmp_path / "there"})


def test_a_socket_over_a_file_or_with_too_long_a_path_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert "no socket" in fault_of(phase_socket=tmp_path / "file")
    assert "longer than the 107 bytes" in fault_of(phase_socket=tmp_path / ("x" * 108))


def test_all_of_it_comes_in_one_message(tmp_path: Path) -> None:
    with pytest.raises(BadConfig) as caught:
        read(node="a.b", nats_url="garbage", seed_file=tmp_path / "none", state_dir=tmp_path / "a" / "b")

    assert len(caught.value.faults) == 4
