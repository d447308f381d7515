"""What the parent last granted, on the region's own disk: a fence for older words, and the proof of a lease."""

import os
from pathlib import Path

import msgspec

from easyrider import log
from easyrider_policy.core.lease import Tenure

_LOG = log.get("policy")


class TenureFile:
    """`tenure.json`, replaced by rename, fsynced with its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._path = folder, folder / "tenure.json"

    def read(self) -> Tenure | None:
        """None where there is none, or none that can be read: then no lease is proven, and that is said."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Tenure)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError) as fault:
            _LOG.error("what the parent granted is not known", path=str(self._path), fault=str(fault))
            return None

    def keep(self, tenure: Tenure) -> None:
        """Make it durable. Raises `OSError`."""
        half = self._path.with_suffix(".half")
        with half.open("wb") as file:
            file.write(msgspec.json.encode(tenure))
            file.flush()
            os.fsync(file.fileno())
        half.replace(self._path)
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
