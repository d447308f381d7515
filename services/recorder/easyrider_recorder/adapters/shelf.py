"""The folder of a recording as the recorder keeps it: how full it is, what to forget, what an earlier run left torn."""

import os
from dataclasses import dataclass
from pathlib import Path

from easyrider_recorder.adapters.reader import Damage, damage_of
from easyrider_recorder.core.places import INDEX_SUFFIX, is_recording, to_forget


@dataclass(frozen=True, slots=True)
class Shelf:
    """`keep_bytes`: of all files together; `min_free_bytes`: what the disk must have left for others."""

    folder: Path
    keep_bytes: int
    min_free_bytes: int

    def open(self) -> None:
        """Make the folder and try it. Raises `OSError`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        trial = self.folder / ".tried"
        trial.write_bytes(b"tried")
        trial.unlink()

    def newest_damage(self) -> list[Damage]:
        """What the newest file of each region lost when it was last written, if it ended in the middle."""
        newest = [sorted(paths)[-1] for paths in self._by_region().values()]
        return [found for path in newest for found in damage_of(path)]

    def room(self) -> bool:
        """Whether the disk has more left than must stay free. Raises `OSError`."""
        disk = os.statvfs(self.folder)
        return disk.f_bavail * disk.f_frsize > self.min_free_bytes

    def tidy(self, in_use: set[Path]) -> list[Path]:
        """Remove the oldest files above `keep_bytes`; those removed. Raises `OSError`."""
        paths = {self._age(path): path for paths in self._by_region().values() for path in paths}
        sizes = {age: _size(path) for age, path in paths.items()}
        gone = [paths[age] for age in to_forget(sizes, self.keep_bytes, map(self._age, in_use))]
        for path in gone:
            path.unlink(missing_ok=True)
            path.with_suffix(INDEX_SUFFIX).unlink(missing_ok=True)
        return gone

    def _age(self, path: Path) -> str:
        return f"{path.name}/{path.parent.name}"

    def _by_region(self) -> dict[str, list[Path]]:
        found: dict[str, list[Path]] = {}
        for path in self.folder.glob("*/*"):
            if is_recording(path.name):
                found.setdefault(path.parent.name, []).append(path)
        return found


def _size(path: Path) -> int:
    """Of a file and its index; 0 where somebody removed it meanwhile."""
    found = [each for each in (path, path.with_suffix(INDEX_SUFFIX)) if each.exists()]
    try:
        return sum(each.stat().st_size for each in found)
    except FileNotFoundError:
        return 0
