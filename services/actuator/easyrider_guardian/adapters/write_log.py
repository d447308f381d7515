"""One line per limit write, on disk before the write: what an observer matches the hardware's record with."""

import threading
from pathlib import Path
from typing import IO, Any

import msgspec

from easyrider_guardian.core.orders import Order

WRITES, READ_BACKS = "writes.jsonl", "read_backs.jsonl"
ROTATE_AT_BYTES = 64 * 1024 * 1024


class WriteLog:
    """`writes.jsonl` and `read_backs.jsonl` in the state folder; each is renamed to `.1` when it grows large.

    Lines are handed to the kernel at once, so they outlive a kill of this process. Raises `OSError`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._files: dict[str, IO[bytes]] = {}

    def about_to(self, order: Order, index: int, stamp_ns: int) -> None:
        """`stamp_ns` (CLOCK_BOOTTIME): this board is asked for this limit now, for this cause."""
        self._append(
            WRITES,
            {
                "stamp_ns": stamp_ns,
                "uuid": order.uuid,
                "gpu": index,
                "cause": order.cause,
                "epoch": order.epoch,
                "seq": order.seq,
                "mint_ns": order.mint_ns,
                "ttl_s": order.ttl_s,
                "requested_w": order.limit_w,
            },
        )

    def came_of(
        self, order: Order, stamp_ns: int, enforced_w: float | None, verified: bool, fault: str | None
    ) -> None:
        """What was read back after the write stamped `stamp_ns`."""
        line = {"stamp_ns": stamp_ns, "uuid": order.uuid, "requested_w": order.limit_w}
        self._append(READ_BACKS, {**line, "enforced_w": enforced_w, "verified": verified, "fault": fault})

    def _append(self, name: str, line: dict[str, Any]) -> None:
        data = msgspec.json.encode(line) + b"\n"
        with self._lock:
            file = self._files.get(name)
            if file is None or file.tell() + len(data) > ROTATE_AT_BYTES:
                file = self._reopen(name, file)
            file.write(data)

    def _reopen(self, name: str, file: IO[bytes] | None) -> IO[bytes]:
        path = self._folder / name
        if file is not None:
            file.close()
            path.replace(path.with_name(name + ".1"))
        opened = path.open("ab", buffering=0)
        if opened.tell() and not _ends_a_line(path):
            opened.write(b"\n")  # the half line of a process that was killed stays one line
        self._files[name] = opened
        return opened


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read(1) == b"\n"
