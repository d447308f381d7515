"""Guaranteed shares as they outlive this process: the one obeyed, and those of regions below."""

import os
from pathlib import Path
from typing import TypeVar

import msgspec

from easyrider import log
from easyrider_policy.core.account import Standing
from easyrider_policy.core.guarantee import Share

_LOG = log.get("policy")
_Record = TypeVar("_Record")


class SharesFile:
    """`share.json` and `standings.json`, replaced by rename, fsynced with their folder."""

    def __init__(self, folder: Path) -> None:
        self._share, self._standings = folder / "share.json", folder / "standings.json"

    def read_share(self) -> Share | None:
        """None on a host that never obeyed one; none at all of one that cannot be read, until the parent names it."""
        return _read(self._share, Share, Share(version=0, watts=0.0))

    def keep_share(self, share: Share) -> None:
        """Make it durable. Raises `OSError`."""
        _keep(self._share, share)

    def read_standings(self) -> dict[str, Standing]:
        """By region; one that is missing owes all that its domain may carry."""
        return _read(self._standings, dict[str, Standing], {}) or {}

    def keep_standings(self, standings: dict[str, Standing]) -> None:
        """Make them durable. Raises `OSError`."""
        _keep(self._standings, standings)


def _read(path: Path, kind: type[_Record], unread: _Record) -> _Record | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as fault:
        _LOG.error("guaranteed shares of before are not known", path=str(path), fault=str(fault))
        return unread


def _keep(path: Path, record: object) -> None:
    half = path.with_suffix(".half")
    with half.open("wb") as file:
        file.write(msgspec.json.encode(record))
        file.flush()
        os.fsync(file.fileno())
    half.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
