"""Finished runs in a folder, one file each, whole or not at all."""

from pathlib import Path
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T", bound=msgspec.Struct)


class CellFolder(Generic[T]):
    """Records of one kind by name: the hash of everything that decides them."""

    def __init__(self, folder: Path, kind: type[T]) -> None:
        self._folder, self._kind = folder, kind
        folder.mkdir(parents=True, exist_ok=True)

    def load(self, name: str) -> T | None:
        """The record of that name; None where there is none that can be read."""
        try:
            return msgspec.json.decode((self._folder / f"{name}.json").read_bytes(), type=self._kind)
        except FileNotFoundError:
            return None
        except msgspec.MsgspecError:
            return None  # cut off while it was written, or by another version: it is run again

    def store(self, name: str, record: T) -> None:
        """Keep one."""
        file = self._folder / f"{name}.json"
        half = file.with_suffix(".new")
        half.write_bytes(msgspec.json.encode(record))
        half.replace(file)
