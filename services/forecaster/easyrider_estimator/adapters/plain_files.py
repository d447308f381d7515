"""Plain files and nothing else, to be read or replaced: a named pipe would keep whoever opens it waiting for good."""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from easyrider.errors import EasyRiderError


class NoPlainFile(EasyRiderError):
    """A pipe, a socket or a device stands where a file is expected; nothing of it was read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(f"{path}: it is no plain file")


def opened(path: Path) -> BinaryIO:
    """To be read, never waiting for a writer. Raises `NoPlainFile`, `OSError`."""
    if not stat.S_ISREG(path.stat().st_mode):  # a device may act on being opened alone
        raise NoPlainFile(path)
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # it was changed for another between the two looks
        file.close()
        raise NoPlainFile(path)
    return file


def write(path: Path, data: bytes) -> None:
    """Beside it and renamed, so that a reader sees the former or the new one; see `write_all`."""
    write_all({path: data})


def write_all(parts: dict[Path, bytes]) -> None:
    """All of these or none: each is whole on the disk beside its place before the first is renamed. Raises `OSError`.

    Renames within a folder come one after the other: an end of the machine between two leaves the former of the rest.
    """
    beside = {path: path.with_name(f".{path.name}.{os.getpid()}.part") for path in parts}
    try:
        for path, data in parts.items():
            with beside[path].open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        for path in parts:
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        for path, part in beside.items():
            part.replace(path)
    finally:
        for part in beside.values():
            with suppress(FileNotFoundError):
                part.unlink()
