"""Peaks of billing months on the coordinator's own disk: a restart must not take a month's peak for none."""

import os
from pathlib import Path

import msgspec

from easyrider import log
from easyrider_policy.core.peak_book import Months

_LOG = log.get("policy")
Kept = dict[str, Months]


class PeaksFile:
    """`peaks.json`, replaced by rename, fsynced: watts by demand window, month and period of the tariff."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "peaks.json"

    def read(self) -> Kept:
        """What was kept; nothing where the file is missing or none: said, and months are not known then."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Kept)
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.DecodeError) as fault:
            _LOG.error("billed peaks of earlier are not known", path=str(self._path), fault=str(fault))
            return {}

    def keep(self, peaks: bytes) -> None:
        """Make them durable. Raises `OSError`."""
        half = self._path.with_suffix(".half")
        with half.open("wb") as file:
            file.write(peaks)
            file.flush()
            os.fsync(file.fileno())
        half.replace(self._path)
