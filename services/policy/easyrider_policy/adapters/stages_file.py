"""What was seen of each scope, on the coordinator's own disk: weeks of it must not end with a restart."""

import os
from pathlib import Path

import msgspec

from easyrider import log
from easyrider_policy.core.stages import Book

_LOG = log.get("policy")


class StagesFile:
    """`stages.json`, replaced by rename, fsynced."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "stages.json"

    def read(self) -> Book:
        """What was kept. Nothing where the file is missing or none: said, and every scope is watched anew."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Book)
        except FileNotFoundError:
            return Book()
        except (OSError, msgspec.DecodeError) as fault:
            _LOG.error("what was seen of scopes is not known", path=str(self._path), fault=str(fault))
            return Book()

    def keep(self, book: bytes) -> None:
        """Make it durable. Raises `OSError`."""
        half = self._path.with_suffix(".half")
        with half.open("wb") as file:
            file.write(book)
            file.flush()
            os.fsync(file.fileno())
        half.replace(self._path)
