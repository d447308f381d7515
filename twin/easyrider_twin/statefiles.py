"""The state files of all nodes side by side in one stretch of memory, so that one array spans every board of a site.

Each file is mapped over its place in the stretch, header and GPU records only: rings belong to the library and to
those who read them. Writing a column of readings is then one operation for a site of any size.
"""

import ctypes
import mmap
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from easyrider_twin.statefile import GPU, GPU_SIZE, HEADER, HEADER_SIZE

MAP_FIXED = 0x10
"""Of Linux; Python's `mmap` cannot place a mapping at an address."""
FAILED = ctypes.c_void_p(-1).value


class StateFiles:
    """Views of many files: `header` (n_nodes,), `records` of every 512 bytes, `rows` (n_gpus,) the boards among them.

    `records[field][rows] = values` writes a field of all boards, node by node, in index order.
    """

    def __init__(self, files: Sequence[tuple[Path, int]]) -> None:
        """Map these (path, GPU count). Raises `OSError` where one cannot be mapped."""
        most = max((gpus for _, gpus in files), default=0)
        self._place_bytes = _whole_pages(most)
        # the views keep this alive, and with it go all the mappings inside it
        stretch = mmap.mmap(-1, max(len(files), 1) * self._place_bytes)
        begin = ctypes.addressof(ctypes.c_char.from_buffer(stretch))
        for number, (path, gpus) in enumerate(files):
            _map(path, begin + number * self._place_bytes, _whole_pages(gpus))
        self.header = np.ndarray((len(files),), HEADER, stretch, 0, (self._place_bytes,))
        self.records = np.ndarray((len(stretch) // GPU_SIZE,), GPU, stretch)
        self._first = [(k * self._place_bytes + HEADER_SIZE) // GPU_SIZE for k in range(len(files))]
        self._gpus = [gpus for _, gpus in files]
        spans = [np.arange(first, first + n) for first, n in zip(self._first, self._gpus, strict=True)]
        self.rows: npt.NDArray[np.intp] = np.concatenate(spans or [np.arange(0)]).astype(np.intp)

    def boards(self, number: int) -> np.ndarray:
        """The records of one file's boards, (n_gpus of that node,); writing to them writes the file."""
        return self.records[self._first[number] : self._first[number] + self._gpus[number]]


def _whole_pages(gpus: int) -> int:
    """Bytes of the header and so many records, up to the next border of a page; a file's ring lies behind."""
    return -(-(HEADER_SIZE + gpus * GPU_SIZE) // mmap.PAGESIZE) * mmap.PAGESIZE


def _map(path: Path, address: int, length: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    descriptor = os.open(path, os.O_RDWR)
    try:
        at = libc.mmap(
            address, length, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | MAP_FIXED, descriptor, 0
        )
    finally:
        os.close(descriptor)
    if at == FAILED:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(path))
