"""State and baseline on disk: written beside, fsynced, put in place by rename, with a checksum."""

import contextlib
import fcntl
import os
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from easyrider.errors import EasyRiderError
from easyrider_guardian.core.records import Baseline, HoldOrder, Standing

STATE, BASELINE, HOLD, LOCK = "state.json", "baseline.json", "hold.json", "lock"


class Unreadable(EasyRiderError):
    """A file of ours is torn or damaged; an armed guardian goes on as expired."""

    def __init__(self, path: Path, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(f"{path} is unreadable ({why}); an armed guardian takes its dead-man for expired")


class FolderInUse(EasyRiderError):
    """Another guardian holds the state folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        super().__init__(f"another guardian uses {folder}; two of them would write against each other")


class _Baselines(msgspec.Struct, frozen=True, kw_only=True):
    gpus: dict[str, Baseline]


class StateFolder:
    """The guardian's folder, made with mode 0700 and locked while open; a kill -9 leaves no lock behind."""

    def __init__(self, path: Path) -> None:
        path.mkdir(mode=0o700, exist_ok=True)
        self.path = path
        self._lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as fault:
            os.close(self._lock)
            raise FolderInUse(path) from fault

    def close(self) -> None:
        """Let the folder go."""
        os.close(self._lock)

    def standing(self) -> Standing | None:
        """What was stored last; None if nothing was. Raises `Unreadable`."""
        found: Standing | None = _read(self.path / STATE, Standing)
        return found

    def save_standing(self, standing: Standing) -> None:
        """On disk when this returns. Raises `OSError`."""
        plain = replace(standing, holdings=dict(standing.holdings))  # a read-only view has no wire form
        _write(self.path / STATE, msgspec.to_builtins(plain))

    def baselines(self) -> dict[str, Baseline] | None:
        """What the boards were found with; None if there is no file, that is: unarmed. Raises `Unreadable`."""
        found = _read(self.path / BASELINE, _Baselines)
        return None if found is None else found.gpus

    def save_baselines(self, gpus: Mapping[str, Baseline]) -> None:
        """On disk when this returns; a damaged file from before is kept aside. Raises `OSError`."""
        path = self.path / BASELINE
        try:
            _read(path, _Baselines)
        except Unreadable:
            path.replace(path.with_suffix(".damaged"))
        _write(path, {"gpus": _plain(gpus)})

    def remove_baselines(self) -> None:
        """Disarmed. Raises `OSError`."""
        with contextlib.suppress(FileNotFoundError):
            (self.path / BASELINE).unlink()
        _sync_folder(self.path)

    def hold(self) -> HoldOrder | None:
        """An operator's hold; None: there is none. Raises `Unreadable`: somebody held, and nobody knows why."""
        found: HoldOrder | None = _read(self.path / HOLD, HoldOrder)
        return found

    def save_hold(self, hold: HoldOrder) -> None:
        """On disk when this returns. Raises `OSError`."""
        _write(self.path / HOLD, msgspec.to_builtins(hold))

    def remove_hold(self) -> None:
        """Gone from the disk when this returns. Raises `OSError`."""
        (self.path / HOLD).unlink(missing_ok=True)
        _sync_folder(self.path)


def _plain(records: Mapping[str, Any]) -> dict[str, Any]:
    return {name: msgspec.to_builtins(record) for name, record in records.items()}


def _read(path: Path, kind: Any) -> Any:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as fault:
        raise Unreadable(path, str(fault)) from fault
    body, _, rest = data.partition(b"\n")
    if rest.strip() != b"%08x" % zlib.crc32(body):
        raise Unreadable(path, "its checksum does not match")
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.MsgspecError as fault:
        raise Unreadable(path, str(fault)) from fault


def _write(path: Path, fields: Mapping[str, Any]) -> None:
    body = msgspec.json.encode({"v": 1, **fields})
    half = path.with_suffix(".new")
    descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(body + b"\n%08x\n" % zlib.crc32(body))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    half.replace(path)
    _sync_folder(path.parent)


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
