"""The model file of this machine: read when it is asked for and again when it changed; never kept open."""

import threading
from pathlib import Path

from easyrider_estimator.adapters.plain_files import NoPlainFile, opened
from easyrider_estimator.core.model import MOST_BYTES, ModelUnreadable, Ready, decode

Stamp = tuple[int, int, int]


class ModelFile:
    """One path, for as many threads as ask. What is damaged is not believed, whatever was read before."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held: tuple[Stamp, Ready | ModelUnreadable] | None = None
        self._one = threading.Lock()  # a new file is read once, however many ask at that moment

    def read(self) -> Ready:
        """The model as the file has it now. Raises `ModelUnreadable`."""
        with self._one:
            return self._read()

    def _read(self) -> Ready:
        try:
            told = self._path.stat()
            stamp = (told.st_mtime_ns, told.st_size, told.st_ino)
            held = self._held
            if held is None or held[0] != stamp:
                held = self._held = (stamp, self._fresh())
        except OSError as fault:
            raise ModelUnreadable(f"{self._path.name}: {fault.strerror}") from fault
        except NoPlainFile as fault:
            raise ModelUnreadable(f"{self._path.name}: it is no plain file") from fault
        if isinstance(held[1], ModelUnreadable):
            raise held[1]
        return held[1]

    def _fresh(self) -> Ready | ModelUnreadable:
        with opened(self._path) as file:
            data = file.read(MOST_BYTES + 1)
        try:
            return decode(data)
        except ModelUnreadable as fault:
            return ModelUnreadable(f"{self._path.name}: {fault.why}")
