"""What opens beside the keys and passwords in use, while these are being renewed: kept as `former.json`."""

from pathlib import Path

import msgspec

from easyrider_cli.init_folder import NoSite

FORMER_FILE = "former.json"


class Former(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """By user: the public key it had on the bus, the hash of the password it had in the store. No secrets."""

    keys: dict[str, str] = {}
    passwords: dict[str, str] = {}


def former_of(folder: Path) -> Former | None:
    """None where nothing is being renewed. Raises `NoSite` where the file cannot be read."""
    try:
        return msgspec.json.decode((folder / FORMER_FILE).read_bytes(), type=Former)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as fault:
        raise NoSite(folder, f"{FORMER_FILE} makes no sense ({fault})") from fault
