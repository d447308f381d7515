"""Copies of our packages with one piece of source changed, for processes that find them first."""

import os
import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "easyrider": "shared",
    "easyrider_guardian": "services/actuator",
    "easyrider_actuator": "services/actuator",
    "easyrider_policy": "services/policy",
}


def copy_packages(to: Path, *packages: str) -> Path:
    """A folder that holds these packages as they stand."""
    for package in packages:
        source = ROOT / PACKAGES[package] / package
        shutil.copytree(
            source, to / package, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True
        )
    return to


def edit(folder: Path, file: str, before: str, after: str) -> None:
    """Change one place of a copied file. Fails if the text is not there exactly once: the guard has moved."""
    path = folder / file
    text = path.read_text()
    assert text.count(before) == 1, f"{file} holds {text.count(before)} times, not once: {before!r}"
    path.write_text(text.replace(before, after))


def python_path(folder: Path) -> str:
    """The value of PYTHONPATH under which a process finds the copies first."""
    return os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH", ""))))
