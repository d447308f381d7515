"""Accepted rules on the coordinator's own disk: the store may forget them, this folder may not."""

import os
import tempfile
from pathlib import Path

KEPT = 20
"""Versions kept to go back to."""


class RulesFolder:
    """`rules-<version>.json` files, fsynced with their folder; the highest version is in force."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self) -> None:
        """Make the folder, if only its parent is there, and try whether it can be written. Raises `OSError`."""
        self._folder.mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=self._folder) as trial:
            trial.write(b"tried")

    def newest(self) -> tuple[int, bytes] | None:
        """Version and document with the highest version, or None on a first start."""
        found = self._found()
        return (found[-1][0], found[-1][1].read_bytes()) if found else None

    def keep(self, version: int, document: bytes) -> None:
        """Make a version durable; put in place by rename. Raises `OSError`."""
        self._folder.mkdir(exist_ok=True)
        half = self._folder / f".rules-{version}.half"
        with half.open("wb") as file:
            file.write(document)
            file.flush()
            os.fsync(file.fileno())
        half.replace(self._folder / f"rules-{version}.json")
        descriptor = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        for _, old in self._found()[:-KEPT]:
            old.unlink()

    def _found(self) -> list[tuple[int, Path]]:
        return sorted(
            (int(number), path)
            for path in self._folder.glob("rules-*.json")
            if (number := path.stem.removeprefix("rules-")).isascii() and number.isdigit()
        )
