"""The folder of an installation: one below it for each service, secrets for their owner and one group alone."""

import os
from dataclasses import dataclass
from pathlib import Path

from easyrider.errors import EasyRiderError
from easyrider.secret_files import FOLDER_WITH_GROUP, write_secret

SERVICES_GID = 10001
"""The group of every service in containers and in the packaged units."""
SITE_FILE, AUTHORITY = "site.json", "authority"


class AlreadyThere(EasyRiderError):
    """Something lies where the installation was to be written; it was left as it is."""

    def __init__(self, folder: Path, found: list[str]) -> None:
        self.folder, self.found = folder, found
        some = ", ".join(found[:4]) + (f" and {len(found) - 4} more" if len(found) > 4 else "")
        super().__init__(
            f"{folder} holds {some}; nothing was written. --rotate renews certificates there, --add brings it in "
            "line with changed nodes or rules, both keep what is in use; or name another folder"
        )


class NoSite(EasyRiderError):
    """There is no installation to renew or to add to."""

    def __init__(self, folder: Path, why: str) -> None:
        self.folder = folder
        super().__init__(f"{folder} holds no installation to go on from: {why}")


def services_group() -> int:
    """Who reads secrets beside their owner: the services' group for root, else the caller's own."""
    return SERVICES_GID if os.geteuid() == 0 else os.getgid()


@dataclass(frozen=True, slots=True)
class SiteFolder:
    """Writes what belongs into it, whole or not at all. `group`: who reads it."""

    root: Path
    group: int

    def of(self, name: str) -> Path:
        """The folder of one service, made: mode 0750."""
        path = self.root / name
        if not path.exists():
            path.mkdir(mode=0o700)
            os.chown(path, -1, self.group)
            path.chmod(FOLDER_WITH_GROUP)
        return path

    def write(self, name: str, file: str, text: str | bytes) -> Path:
        """A file of one service: mode 0640, secret or not."""
        path = self.of(name) / file
        write_secret(path, text, self.group)
        return path

    def keep_to_ourselves(self, name: str, file: str, text: bytes) -> None:
        """A file that no service reads: mode 0600 in a folder 0700."""
        path = self.root / name
        path.mkdir(mode=0o700, exist_ok=True)
        write_secret(path / file, text)


def refuse_what_is_there(folder: Path) -> None:
    """Nothing if the folder can be made or is empty. Raises `AlreadyThere`, `NoSite`."""
    if folder.is_dir():
        if found := sorted(path.name for path in folder.iterdir()):
            raise AlreadyThere(folder, found)
    elif folder.exists() or folder.is_symlink():
        raise AlreadyThere(folder, ["a file"])
    elif not folder.parent.is_dir():
        raise NoSite(folder, f"there is no folder {folder.parent} to make it in")
