"""compose.yaml as it stands, without an engine: what each container may do, and that it is given what init writes."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from easyrider.guardian_link import Request, frame

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
NODE = yaml.safe_load((ROOT / "deploy" / "compose" / "node.yaml").read_text())
TWIN = ROOT / "deploy" / "compose" / "twin"
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
GUARDIANS = sorted(name for name in SERVICES if name.startswith("guardian"))
LATER_THAN_1_29 = ("name", "include")


def with_folders(top: str = "") -> dict[str, str]:
    """Paths below the site's folder that the file asks for, by service."""
    text = (ROOT / "compose.yaml").read_text().replace("${EASYRIDER_TOP:-}", top)
    text = text.replace("${EASYRIDER_NODE:-node-1}", "node-1")
    services = yaml.safe_load(text)["services"]
    return {
        f"{name} {file}": file.removeprefix("${EASYRIDER_SITE:-./site}/")
        for name, service in services.items()
        for file in service.get("env_file", [])
    }


@pytest.fixture(scope="module", params=["", "-site"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The region at the top as the file names it, and what init writes for such a site."""
    place = tmp_path_factory.mktemp("written")
    rules = place / "rules.yaml"
    parts = ["rules.yaml", "regions.yaml"] if request.param else ["rules.yaml"]
    rules.write_text("".join((TWIN / part).read_text() for part in parts))
    command = [sys.executable, "-m", "easyrider_cli", "init", str(place / "site"), "--tree", str(rules)]
    subprocess.run([*command, "--at", "/run/secrets"], check=True, timeout=60, capture_output=True)
    return request.param, place / "site"


def test_every_settings_file_that_a_service_is_given_is_one_that_init_writes(
    written: tuple[str, Path],
) -> None:
    top, site = written
    wanted = {
        who: file
        for who, file in with_folders(top).items()
        if top or not re.search(r"-row-\d", who)  # regions are there with the rules that name them
    }

    assert wanted
    assert not [who for who, file in wanted.items() if not (site / file).is_file()]


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_nothing_but_the_guardian_has_a_privilege_or_is_root(name: str) -> None:
    service = SERVICES[name]

    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.get("privileged")
    assert "pid" not in service
    assert "ipc" not in service
    if name in GUARDIANS:
        assert (service["user"], service["cap_add"], service["network_mode"]) == (
            "0:0",
            ["SYS_ADMIN"],
            "none",
        )
        assert service["command"] == ["easyrider-guardian", "--keep"]
        assert "secrets" not in service
    else:
        assert service["user"].split(":")[0] == "10001"
        assert "cap_add" not in service
        assert service.get("network_mode", "none") == "none"  # never the host's


def test_the_two_simulated_nodes_differ_in_their_name_alone() -> None:
    for role in ("telemetry", "actuator", "guardian"):
        first, second = (str(SERVICES[f"{role}-node-{n}"]) for n in (1, 2))

        assert first.replace("node-1", "node-2") == second


def test_a_host_of_its_own_runs_its_three_services_just_as_compose_yaml_does() -> None:
    for name, service in NODE["services"].items():
        same = SERVICES[name]
        for key in ("command", "user", "cap_drop", "cap_add", "security_opt", "read_only", "network_mode",
                    "environment", "group_add", "healthcheck", "volumes", "deploy", "stop_grace_period"):  # fmt: skip
            assert service.get(key) == same.get(key), (name, key)


def test_the_profiles_are_those_that_are_promised() -> None:
    profiles = {profile for service in SERVICES.values() for profile in service.get("profiles", [])}

    assert profiles == {"twin", "regions", "gpu", "recorder"}
    core = {name for name, service in SERVICES.items() if "profiles" not in service}
    assert core == {"nats", "redis", "volumes", "policy", "forecaster", "infra-bridge", "api"}


def test_what_is_published_is_the_loopbacks_unless_told_otherwise() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]

    assert len(ports) == 2
    assert all(port.startswith("${EASYRIDER_BIND:-127.0.0.1}:") for port in ports)


def test_every_program_is_ours_and_every_service_is_watched() -> None:
    programs = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]

    for name, service in SERVICES.items():
        if service.get("command", [""])[0].startswith("easyrider"):
            assert service["command"][0] in programs, name
        assert name == "volumes" or "healthcheck" in service


def test_the_file_keeps_to_what_old_compose_understands() -> None:
    assert not [key for key in COMPOSE if key in LATER_THAN_1_29]
    told = (ROOT / "compose.yaml").read_text()
    assert not re.search(
        r"^\s+(gpus|develop|annotations|cgroup|post_start|start_interval):", told, re.MULTILINE
    )
    assert ":+" not in told


def test_the_builders_that_know_no_mounts_build_the_image() -> None:
    told = (ROOT / "Dockerfile").read_text()

    assert not told.startswith("# syntax")
    assert "--mount" not in told
    assert "<<" not in told


def test_the_rules_of_the_simulated_site_can_be_kept_also_in_regions(tmp_path: Path) -> None:
    both = tmp_path / "both.yaml"
    both.write_text((TWIN / "rules.yaml").read_text() + (TWIN / "regions.yaml").read_text())

    for rules in (TWIN / "rules.yaml", both):
        command = [sys.executable, "-m", "easyrider_cli", "check", str(rules)]
        assert subprocess.run(command, timeout=60, capture_output=True, check=False).returncode == 0


def test_the_rules_say_of_the_simulated_hardware_what_it_is() -> None:
    world = yaml.safe_load((TWIN / "world.yaml").read_text())
    rules = yaml.safe_load((TWIN / "rules.yaml").read_text())
    hardware, declared = ({d["id"]: d for d in document["domains"]} for document in (world, rules))

    assert list(hardware) == list(declared)
    for name, domain in hardware.items():
        for key in ("kind", "parent", "rating_w", "hard_limit_w", "target_w", "fixed_w"):
            assert declared[name].get(key) == domain.get(key), (name, key)
    assert [n["domain"] for n in world["nodes"]] == [n["domain"] for n in rules["nodes"]]
    assert {m["id"] for m in world["meters"]} == {
        m["id"] for m in yaml.safe_load((TWIN / "meters.yaml").read_text())["meters"]
    }


def test_the_health_check_speaks_the_guardians_language() -> None:
    told = (ROOT / "deploy" / "image" / "ready.py").read_text()
    names: dict[str, Any] = {"__name__": "ready"}
    exec(compile(told, "ready.py", "exec"), names)

    assert frame(Request(id=1, verb="state"))[4:] == names["STATE_REQUEST"]
