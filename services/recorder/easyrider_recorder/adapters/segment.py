"""One file of a recording, written block by block; a block is on the disk whole or it is taken back."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import zstandard

from easyrider_recorder.core import framing
from easyrider_recorder.core.framing import IndexEntry, Record
from easyrider_recorder.core.places import INDEX_SUFFIX, file_name

LEVEL = 3


class Segment:
    """Open for appending; made by `create`. Every verb raises `OSError`."""

    def __init__(self, path: Path, data: int, index: int, hour: str, size: int) -> None:
        self.path, self.hour = path, hour
        self._data, self._index, self._size = data, index, size
        self._packer = zstandard.ZstdCompressor(level=LEVEL)

    @classmethod
    def create(cls, folder: Path, hour: str, about: dict[str, Any]) -> "Segment":
        """A new file of this hour, with its head on the disk."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / file_name(hour, (found.name for found in folder.iterdir()))
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        data = os.open(path, flags, 0o640)
        try:
            index = os.open(path.with_suffix(INDEX_SUFFIX), flags, 0o640)
        except OSError:
            os.close(data)
            raise
        segment = cls(path, data, index, hour, 0)
        try:
            segment._append(framing.file_head(about))
        except OSError:
            segment.close()
            raise
        return segment

    @property
    def gone(self) -> bool:
        """Whether somebody removed the file: what is written would be seen by nobody."""
        return os.fstat(self._data).st_nlink == 0

    def write(self, records: Sequence[Record], dropped: int) -> int:
        """Append one block; its bytes on the disk. What could not be written whole is taken back."""
        told = list(records)
        raw = b"".join(map(framing.raw_record, told))
        packed = self._packer.compress(raw)
        head, told_head = framing.block_head(told, len(raw), packed, dropped)
        offset = self._size
        self._append(told_head + packed)
        os.fdatasync(self._data)
        entry = IndexEntry(offset, head.first_unix_ns, head.last_unix_ns, head.records)
        os.write(self._index, framing.index_entry(entry))  # a shortcut: what it lacks is found without it
        return self._size - offset

    def close(self) -> None:
        """No more blocks."""
        os.close(self._data)
        os.close(self._index)

    def _append(self, told: bytes) -> None:
        view = memoryview(told)
        try:
            while view:
                view = view[os.write(self._data, view) :]
        except OSError:
            os.ftruncate(self._data, self._size)
            raise
        self._size += len(told)
