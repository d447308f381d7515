"""A guard of our source that can be taken out of a copy, and a run of the tests that must notice."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mutants import ROOT, python_path


@dataclass(frozen=True, slots=True)
class Guard:
    """A guard: where it stands, what takes it out (file, before, after), and the tests that must notice."""

    name: str
    package: str
    edits: tuple[tuple[str, str, str], ...]
    tests: tuple[str, ...]


def run(folder: Path, tests: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """These tests against the copies in a folder, up to the first failure."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--timeout", "60"]
    paths = [f"tests/{test}" for test in dict.fromkeys(tests)]
    environ = {**os.environ, "PYTHONPATH": python_path(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryDirectory(prefix="erm-") as short:  # the path of a socket has room for 107 bytes
        base = ["--basetemp", f"{short}/t"]
        return subprocess.run(
            [*command, *base, *paths], cwd=ROOT, env=environ, capture_output=True, text=True, timeout=170
        )
