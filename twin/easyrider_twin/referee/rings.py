"""Every limit that was ever written to a node, from the ring its NVML library keeps.

The layout stands here a second time on purpose: the referee shares no code with what it judges.
"""

import mmap
from dataclasses import dataclass
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
            "out_of_band_mw",
            "enforced_mw",
            "limit_stamp_ns",
        ],
        "formats": ["S48", "<u4", "<u4", "<u4", "<u4", "<u4", "<u8"],
        "offsets": [0, 144, 148, 152, 264, 324, 336],
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


@dataclass(frozen=True, slots=True)
class Write:
    """One call of a limit setter. `counted_w` is what the board could be enforcing from then on."""

    stamp_ns: int
    node: str
    gpu: int
    requested_w: float
    counted_w: float
    answer: int
    pid: int


class Ring:
    """Reader of one node's ring, from the first entry on."""

    def __init__(self, path: Path, node: str) -> None:
        with path.open("rb") as file:
            self._view = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        self._header = np.ndarray((), HEADER, self._view, 0)
        if self._header["magic"] != MAGIC or self._header["version"] != VERSION:
            raise ValueError(f"{path} is no GPU state file of version {VERSION}")
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
        self.unfinished = 0
        self._next, self._looks = 0, 0

    def read(self) -> list[Write]:
        """What was written since the last look."""
        found: list[Write] = []
        head = int(self._header["ring_head"])
        if head - self._next > self.capacity:
            self.overruns += head - self.capacity - self._next
            self._next = head - self.capacity
        while self._next < head:
            entry = self._ring[self._next % self.capacity].copy()
            if int(self._ring[self._next % self.capacity]["seq"]) != int(entry["seq"]):
                break  # it changed while it was copied; the next look decides
            seq = int(entry["seq"])
            if seq > self._next + 1:
                self.overruns += 1
            elif seq == self._next + 1:
                found.append(self._write(entry))
            else:
                self._looks += 1
                if self._looks < UNFINISHED_POLLS:
                    break
                self.unfinished += 1
                found += self._as_they_stand()
            self._next += 1
            self._looks = 0
        return found

    def _write(self, entry: np.void) -> Write:
        gpu, answer = int(entry["gpu"]), int(entry["answer"])
        requested_w, enforced_w = int(entry["requested_mw"]) / 1000.0, int(entry["enforced_mw"]) / 1000.0
        counted_w = enforced_w
        if answer == 0 and int(self._gpus[gpu]["out_of_band_mw"]) > 0:
            # a cap from outside may end at any time: what was asked counts
            counted_w = max(requested_w, enforced_w)
        return Write(
            int(entry["stamp_ns"]), self.node, gpu, requested_w, counted_w, answer, int(entry["pid"])
        )

    def _as_they_stand(self) -> list[Write]:
        """Present limits of all boards, in place of an entry that its writer never finished."""
        return [
            Write(int(gpu["limit_stamp_ns"]), self.node, k, int(gpu["enforced_mw"]) / 1000.0, w, 0, 0)
            for k, gpu in enumerate(self._gpus)
            if (w := int(gpu["enforced_mw"]) / 1000.0) > 0
        ]
