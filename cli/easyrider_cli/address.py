"""Where a stack that is up can be reached, left in its run folder for other commands."""

from pathlib import Path

import msgspec

from easyrider.errors import EasyRiderError
from easyrider_cli.front_door import front_door
from easyrider_cli.rundir import RunFolder

WATCHER = "dashboard"
"""The bus user of people who look on."""


class NoStack(EasyRiderError):
    """No stack is up in this run folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        super().__init__(
            f"no stack is up in {root}: start one with `{front_door()} up`, or name its folder by --run"
        )


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """Both servers, the place, and the key of one who may hear everything but commands."""

    nats_url: str
    redis_url: str
    region: str
    tree: str
    nodes: tuple[str, ...]
    watcher_seed: str | None  # None: an open bus
    regions: tuple[str, ...] = ()  # those below `region`, each with a coordinator of its own


def leave(folder: RunFolder, address: Address) -> None:
    """Write the address for others, whole or not at all."""
    half = folder.address.with_suffix(".half")
    half.write_bytes(msgspec.json.format(msgspec.json.encode(address), indent=1) + b"\n")
    half.replace(folder.address)


def read(root: Path) -> Address:
    """The address of the stack in `root`. Raises `NoStack`."""
    try:
        return msgspec.json.decode(RunFolder(root).address.read_bytes(), type=Address)
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError) as fault:
        raise NoStack(root) from fault
