"""Every limit that was ever written to a node, from the ring its NVML library keeps.

The layout stands here a second time on purpose: the referee shares no code with what it judges.
"""

import mmap
import os
from collections import deque
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

MAGIC, VERSION = b"ERTWIN01", 1
HEADER_SIZE, GPU_SIZE, RING_ENTRY_SIZE = 4096, 512, 40
RING_HEAD_AT = 40
HEADER = np.dtype(
    {
        "names": ["magic", "version", "gpu_count", "ring_capacity", "ring_head"],
        "formats": ["S8", "<u4", "<u4", "<u4", "<u8"],
        "offsets": [0, 8, 12, 16, RING_HEAD_AT],
        "itemsize": HEADER_SIZE,
    }
)
GPU = np.dtype(
    {
        "names": [
            "uuid",
            "min_mw",
            "max_mw",
            "default_mw",
            "requested_mw",
            "enforced_mw",
            "limit_stamp_ns",
        ],
        "formats": ["S48", "<u4", "<u4", "<u4", "<u4", "<u4", "<u8"],
        "offsets": [0, 144, 148, 152, 320, 324, 336],
        "itemsize": GPU_SIZE,
    }
)
RING = np.dtype(
    {
        "names": ["stamp_ns", "gpu", "requested_mw", "enforced_mw", "pid", "seq", "answer"],
        "formats": ["<u8", "<u4", "<u4", "<u4", "<u4", "<u8", "<u4"],
        "offsets": [0, 8, 12, 16, 20, 24, 32],
        "itemsize": RING_ENTRY_SIZE,
    }
)
UNFINISHED_POLLS = 20
"""A place taken but never filled belongs to a writer that was killed; after so many looks it is passed over."""


REMEMBERED_STAMPS = 4096


class NoEvidence(Exception):
    """A node's state file is not there or not one of the twin's; nothing can be judged."""


@dataclass(frozen=True, slots=True)
class Write:
    """One call of a limit setter.

    `counted_w` is what the board could be enforcing from then on, None where the call had no effect;
    `enforced_w` what it did enforce right after.
    """

    stamp_ns: int
    node: str
    gpu: int
    requested_w: float
    counted_w: float | None
    enforced_w: float
    answer: int
    pid: int


class Ring:
    """Reader of one node's ring, from the first entry on. Raises `NoEvidence`."""

    def __init__(self, path: Path, node: str) -> None:
        self._path = path
        try:
            with path.open("rb") as file:
                self._inode = os.fstat(file.fileno()).st_ino
                self._view = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        except (OSError, ValueError) as fault:
            raise NoEvidence(f"state file of {node}: {fault}") from fault
        if len(self._view) < HEADER_SIZE:
            raise NoEvidence(f"{path} is no GPU state file of version {VERSION}")
        self._header = np.ndarray((), HEADER, self._view, 0)
        if self._header["magic"] != MAGIC or self._header["version"] != VERSION:
            raise NoEvidence(f"{path} is no GPU state file of version {VERSION}")
        self.gpu_count, self.capacity = int(self._header["gpu_count"]), int(self._header["ring_capacity"])
        self._gpus = np.ndarray((self.gpu_count,), GPU, self._view, HEADER_SIZE)
        ring_at = HEADER_SIZE + self.gpu_count * GPU_SIZE
        self._ring = np.ndarray((self.capacity,), RING, self._view, ring_at)
        self.node = node
        self.uuids = [uuid.decode() for uuid in self._gpus["uuid"].tolist()]
        self.min_w = (self._gpus["min_mw"] / 1000.0).tolist()
        self.max_w = (self._gpus["max_mw"] / 1000.0).tolist()
        self.first_w = (self._gpus["default_mw"] / 1000.0).tolist()
        self.overruns = 0
        """Entries overwritten before they were read."""
        self.whole_ns = 0
        """Every write stamped up to then has been read."""
        self._next, self._looks = 0, 0
        self._passed: set[int] = set()
        self._snapshot: np.ndarray | None = None
        self._stamps = [deque([0], maxlen=REMEMBERED_STAMPS) for _ in range(self.gpu_count)]
        self._last_look_ns = 0

    @property
    def unfinished(self) -> int:
        """Places taken by writers that never filled them."""
        return len(self._passed)

    @property
    def replaced(self) -> bool:
        """Whether another file has taken this one's place: what is written there, nobody sees here."""
        try:
            return self._path.stat().st_ino != self._inode
        except FileNotFoundError:
            return True

    def read(self, now_ns: int) -> list[Write]:
        """What was written since the last look; `now_ns` is a moment before this call (CLOCK_BOOTTIME)."""
        found = self._finished_late()
        orphans: list[np.ndarray] = []
        head = int(self._header["ring_head"])
        if head - self._next > self.capacity:
            self.overruns += head - self.capacity - self._next
            self._next = head - self.capacity
        while self._next < head:
            entry = self._entry(self._next)
            seq = 0 if entry is None else int(entry["seq"])
            if entry is not None and seq == self._next + 1:
                found.append(self._write(entry))
            elif seq > self._next + 1:
                self.overruns += 1
            elif not self._passes_over(orphans):
                break
            self._next += 1
            self._looks, self._snapshot = 0, None
        else:
            self.whole_ns = now_ns
        self._last_look_ns = now_ns
        return found + self._unexplained(orphans)

    def _entry(self, place: int) -> np.void | None:
        """A copy of one entry; None where it changed while it was copied."""
        entry: np.void = self._ring[place % self.capacity].copy()
        return entry if int(self._ring[place % self.capacity]["seq"]) == int(entry["seq"]) else None

    def _passes_over(self, orphans: list[np.ndarray]) -> bool:
        """Whether the unfinished entry next in line has been waited for long enough."""
        if self._snapshot is None:
            self._snapshot = self._gpus.copy()
        self._looks += 1
        if self._looks < UNFINISHED_POLLS:
            return False
        orphans += [self._snapshot, self._gpus.copy()]
        self._passed.add(self._next)
        return True

    def _write(self, entry: np.void) -> Write:
        gpu, answer, stamp_ns = int(entry["gpu"]), int(entry["answer"]), int(entry["stamp_ns"])
        requested_w, enforced_w = int(entry["requested_mw"]) / 1000.0, int(entry["enforced_mw"]) / 1000.0
        applied = (
            answer == 0 or enforced_w == requested_w or int(self._gpus[gpu]["limit_stamp_ns"]) == stamp_ns
        )
        # a cap from outside may hold the board below what was asked, and may end at any time: what was asked counts
        counted_w = max(requested_w, enforced_w) if applied else None
        self._stamps[gpu].append(stamp_ns)
        return Write(stamp_ns, self.node, gpu, requested_w, counted_w, enforced_w, answer, int(entry["pid"]))

    def _finished_late(self) -> list[Write]:
        """Writes of writers that were passed over and woke up: their change came after the last look."""
        found = []
        for place in sorted(self._passed):
            entry = self._entry(place)
            if entry is None or int(entry["seq"]) != place + 1:
                continue
            self._passed.discard(place)
            if int(entry["stamp_ns"]) not in self._stamps[int(entry["gpu"])]:
                write = self._write(entry)
                found.append(replace(write, stamp_ns=max(write.stamp_ns, self._last_look_ns)))
        return found

    def _unexplained(self, orphans: list[np.ndarray]) -> list[Write]:
        """Limits that no finished entry tells of: those of writers that were killed after their change."""
        found = []
        for gpus in orphans:
            for gpu, board in enumerate(gpus):
                stamp_ns = int(board["limit_stamp_ns"])
                if stamp_ns in self._stamps[gpu]:
                    continue
                self._stamps[gpu].append(stamp_ns)
                requested_w, enforced_w = (
                    int(board["requested_mw"]) / 1000.0,
                    int(board["enforced_mw"]) / 1000.0,
                )
                counted_w = max(requested_w, enforced_w)
                found.append(Write(stamp_ns, self.node, gpu, requested_w, counted_w, enforced_w, 0, 0))
        return found
