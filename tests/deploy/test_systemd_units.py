"""The shipped units: in the order that safety asks for, with the rights each needs, understood by systemd."""

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UNITS = ROOT / "deploy" / "systemd"
SHARED = UNITS / "easyrider-.service.d" / "hardening.conf"
JOBS = {"slurmd.service", "kubelet.service", "docker.service", "containerd.service"}
OURS = sorted(file.name for file in UNITS.glob("*@.service"))
MOST_EXPOSED = 2.5
"""Of 10, by systemd's own reckoning; what it calls OK ends at 4.5."""


def settings(file: Path) -> dict[str, list[str]]:
    """Every key of a unit file with its values, in their order."""
    found: dict[str, list[str]] = {}
    for line in file.read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def words(unit: str, key: str) -> set[str]:
    return {word for line in settings(UNITS / unit).get(key, []) for word in line.split()}


def test_the_guardian_stands_before_everything_that_starts_jobs() -> None:
    assert words("easyrider-guardian@.service", "Before") >= JOBS
    assert not words("easyrider-guardian@.service", "After") & (JOBS | {"network-online.target"})


def test_the_guardian_alone_keeps_a_capability_and_has_no_network() -> None:
    for unit in OURS:
        guards = "guardian" in unit
        assert settings(UNITS / unit)["CapabilityBoundingSet"] == ["CAP_SYS_ADMIN" if guards else ""], unit
        assert (settings(UNITS / unit)["User"] == ["root"]) == guards, unit
        assert ("PrivateNetwork" in settings(UNITS / unit)) == guards, unit
    assert words("easyrider-guardian@.service", "RestrictAddressFamilies") == {"AF_UNIX"}


def test_a_stop_or_an_upgrade_of_the_guardian_leaves_limits_as_they_are() -> None:
    (command,) = settings(UNITS / "easyrider-guardian@.service")["ExecStart"]

    assert command.split()[1:] == ["--keep"]


def test_the_socket_of_the_guardian_is_the_actuators_to_reach_and_nobody_elses() -> None:
    told = settings(UNITS / "easyrider-guardian@.service")

    assert (told["RuntimeDirectoryMode"], told["Group"]) == (["2750"], ["easyrider"])
    assert (told["StateDirectoryMode"], told["StateDirectory"]) == (["0700"], ["easyrider-guardian"])
    assert "10001:10001" in (UNITS / "easyrider.sysusers.conf").read_text()


@pytest.mark.parametrize("unit", OURS)
def test_a_service_that_dies_or_whose_loop_is_stuck_is_started_again(unit: str) -> None:
    told = settings(UNITS / unit)

    assert told["Type"] == ["notify"]
    assert 5 <= int(told["WatchdogSec"][0]) <= 30
    assert told["StartLimitIntervalSec"] == ["0"]  # for ever: a limit nobody renews ends in the dead-man
    assert settings(SHARED)["Restart"] == ["always"]


@pytest.mark.parametrize("unit", OURS)
def test_a_unit_starts_a_program_of_ours_with_the_settings_that_init_wrote(unit: str) -> None:
    told = settings(UNITS / unit)
    programs = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]

    assert Path(told["ExecStart"][0].split()[0]).name in programs
    assert Path(told["ExecStart"][0].split()[0]).name == unit.removesuffix("@.service")
    assert told["EnvironmentFile"] == ["/etc/easyrider/%i/%i.env"]


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A root with the units, and a file for every program that they start."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not here")
    place = tmp_path / "usr" / "lib" / "systemd" / "system"
    place.parent.mkdir(parents=True)
    shutil.copytree(UNITS, place)
    for target in Path("/lib/systemd/system").glob("*.target"):
        if not target.is_symlink():
            shutil.copy(target, place)
    for unit in UNITS.glob("*.service"):
        for line in [*settings(unit)["ExecStart"], *settings(unit).get("ExecReload", [])]:
            program = tmp_path / line.split()[0].lstrip("/")
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text("#!/bin/sh\n")
            program.chmod(0o755)
    return tmp_path


def _analyze(root: Path, verb: str, unit: str, *more: str) -> subprocess.CompletedProcess[str]:
    named = unit.replace("@.", "@some-1.")
    command = ["systemd-analyze", verb, f"--root={root}", *more, named]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("unit", sorted(file.name for file in UNITS.glob("*.service")))
def test_systemd_understands_every_line(installed: Path, unit: str) -> None:
    done = _analyze(installed, "verify", unit, "--man=no")

    assert (done.returncode, done.stderr.strip()) == (0, "")


def test_systemd_would_tell_of_a_line_that_it_does_not_understand(installed: Path) -> None:
    place = installed / "usr" / "lib" / "systemd" / "system" / "easyrider-policy@.service"
    place.write_text(place.read_text().replace("WatchdogSec=10", "WatchdogSeconds=10"))

    assert "WatchdogSeconds" in _analyze(installed, "verify", "easyrider-policy@.service", "--man=no").stderr


@pytest.mark.parametrize("unit", OURS)
def test_systemd_finds_little_to_attack(installed: Path, unit: str) -> None:
    done = _analyze(installed, "security", unit, "--offline=yes", f"--threshold={MOST_EXPOSED * 10:.0f}")

    assert done.returncode == 0, done.stdout[-2000:]
