"""The folder of one user of an installation, as a person shows it to the bus: key, authority, certificate."""

from dataclasses import dataclass
from pathlib import Path

from easyrider.errors import EasyRiderError
from easyrider.tls import TlsFiles


class NoUser(EasyRiderError):
    """A folder is not that of a user of the bus."""

    def __init__(self, folder: Path, why: str) -> None:
        self.folder = folder
        super().__init__(
            f"--user {folder}: {why}; name a folder that `easyrider init` wrote, such as site/dashboard"
        )


@dataclass(frozen=True, slots=True)
class BusUser:
    """What one user shows, and whom it believes."""

    seed_file: Path
    tls: TlsFiles | None


def bus_user(folder: Path) -> BusUser:
    """The user whose folder this is. Raises `NoUser`."""
    try:
        seeds = sorted(folder.glob("*.nk"))
        authority, shown = folder / "ca.pem", folder / "certificate.pem"
        has_authority, has_shown = authority.exists(), shown.exists()
    except OSError as fault:
        raise NoUser(folder, fault.strerror or "it cannot be read") from fault
    if len(seeds) != 1:
        raise NoUser(folder, "it holds no key of a user" if not seeds else "it holds keys of several users")
    if not has_authority:
        return BusUser(seeds[0], None)
    certificate, key = (shown, folder / "key.pem") if has_shown else (None, None)
    return BusUser(seeds[0], TlsFiles(ca=authority, certificate=certificate, key=key))
