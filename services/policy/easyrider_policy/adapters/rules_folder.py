"""Accepted rules on the coordinator's own disk: the store may forget them, this folder may not."""

import os
from pathlib import Path


class RulesFolder:
    """`rules-<version>.json` files, fsynced with their folder; the highest version is in force."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def newest(self) -> tuple[int, bytes] | None:
        """Version and document with the highest version, or None on a first start."""
        found = sorted(
            (int(path.stem.removeprefix("rules-")), path)
            for path in self._folder.glob("rules-*.json")
            if path.stem.removeprefix("rules-").isdigit()
        )
        return (found[-1][0], found[-1][1].read_bytes()) if found else None

    def keep(self, version: int, document: bytes) -> None:
        """Make a version durable; put in place by rename."""
        self._folder.mkdir(parents=True, exist_ok=True)
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
