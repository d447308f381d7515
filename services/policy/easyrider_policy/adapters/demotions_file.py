"""Demotions on the coordinator's own disk: a restart must not promote what was demoted for cause."""

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from easyrider import log
from easyrider_policy.core.demotion import Demoted

_LOG = log.get("policy")


class DemotionsFile:
    """`demotions.json`, replaced by rename, fsynced."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "demotions.json"

    def read(self) -> list[Demoted]:
        """Those that stand. None where the file is missing or no list of them: said, and begun anew."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=list[Demoted])
        except FileNotFoundError:
            return []
        except (OSError, msgspec.DecodeError) as fault:
            _LOG.error("demotions of earlier are not known", path=str(self._path), fault=str(fault))
            return []

    def keep(self, standing: Iterable[Demoted]) -> None:
        """Make them durable. Raises `OSError`."""
        half = self._path.with_suffix(".half")
        with half.open("wb") as file:
            file.write(msgspec.json.encode(list(standing)))
            file.flush()
            os.fsync(file.fileno())
        half.replace(self._path)
