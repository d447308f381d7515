"""The memory-mapped file that stands for the GPUs of one node.

One file a node: a header of 4,096 bytes, one record of 512 bytes a GPU, then a ring of limit writes.
The C library (`native/state.h`) and the simulator map the same bytes; every field has one writer, named
below, and is aligned to its size, so no lock is needed. The file is created once and attached to ever after:
truncating it under a live reader would kill that reader with SIGBUS.
"""

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

MAGIC = b"ERTWIN01"
VERSION = 1
HEADER_SIZE = 4096
GPU_SIZE = 512
RING_CAPACITY = 4096
RING_ENTRY_SIZE = 40

HEADER = np.dtype(
    {
        "names": [
            "magic", "version", "gpu_count", "ring_capacity", "driver_state", "deny_set", "call_latency_ns",
            "ring_head", "step_ns", "sim_ns", "driver_version", "nvml_version", "node", "cuda_version",
            "sensor_seq",
        ],
        "formats": [
            "S8", "<u4", "<u4", "<u4", "<u4", "<u4", "<u8",
            "<u8", "<u8", "<u8", "S80", "S80", "S64", "<u4",
            "<u4",
        ],
        "offsets": [0, 8, 12, 16, 20, 24, 32, 40, 48, 56, 64, 144, 224, 288, 292],
        "itemsize": HEADER_SIZE,
    }
)  # fmt: skip
"""`driver_state` is the NVML code that Init answers (0: fine). The library writes `ring_head` only (atomic
add); everything else is the simulator's. `sensor_seq` is odd while the simulator writes readings
(`writing_sensors`), so that a reader never pairs an energy with the time stamp of another refresh.
`step_ns` is the CLOCK_BOOTTIME of its last step, `sim_ns` the simulated time."""

GPU = np.dtype(
    {
        "names": [
            # identity and abilities, written once by the simulator
            "uuid", "name", "pci_bus_id", "min_mw", "max_mw", "default_mw", "capabilities", "mig_count",
            "memory_total", "max_sm_mhz", "max_mem_mhz", "architecture",
            # what the sensors show, written by the simulator
            "instant_mw", "average_mw", "power_stamp_us", "energy_mj", "energy_stamp_us", "temperature_c",
            "util_gpu_pct", "util_mem_pct", "sm_mhz", "mem_mhz", "event_reasons", "memory_used",
            "out_of_band_mw",
            # faults, written by the simulator
            "fault_code", "fault_delay_us", "blank_mask", "xid_seq", "xid_code", "write_fault",
            # what was asked of the board, written by the library
            "requested_mw", "enforced_mw", "limit_seq", "limit_stamp_ns", "persistence",
            "locked_min_mhz", "locked_max_mhz",
            # compute processes on the board, written by whoever plays them
            "process_pids",
        ],
        "formats": [
            "S48", "S64", "S32", "<u4", "<u4", "<u4", "<u4", "<u4",
            "<u8", "<u4", "<u4", "<u4",
            "<u4", "<u4", "<i8", "<u8", "<i8", "<i4",
            "<u4", "<u4", "<u4", "<u4", "<u8", "<u8", "<u4",
            "<u4", "<u4", "<u4", "<u4", "<u4", "<u4",
            "<u4", "<u4", "<u8", "<u8", "<u4", "<u4", "<u4",
            "(16,)<u4",
        ],
        "offsets": [
            0, 48, 112, 144, 148, 152, 156, 160,
            168, 176, 180, 184,
            192, 196, 200, 208, 216, 224,
            228, 232, 236, 240, 248, 256, 264,
            288, 292, 296, 300, 304, 308,
            320, 324, 328, 336, 344, 348, 352,
            440,
        ],
        "itemsize": GPU_SIZE,
    }
)  # fmt: skip
"""What the bits and codes mean.

`capabilities` bits: 1 limit can be set, 2 energy counter, 4 instant field, 8 average field, 16 MIG enabled.
`blank_mask` bits make that reading answer NVML's blank marker: 1 instant power, 2 energy, 4 temperature,
8 utilisation, 256 average power; the same bits times 16 make it answer plain nonsense instead.
`fault_code` is answered by every call on the handle.
`fault_delay_us` is slept in each of them; the sleep ends when the field is cleared.
`write_fault`: 0 none, 1 the setter succeeds and changes nothing, 2 it succeeds and enforces the maximum,
3 it answers UNKNOWN and changes nothing, 4 it answers UNKNOWN and has changed the limit.
An XID is raised by writing `xid_code`, then adding 1 to `xid_seq`.
`process_pids` are the compute processes that NVML lists for the board; 0 is a free place.
The limit in force is `enforced_limits_mw`; 0 in `requested_mw` or `enforced_mw` means never set: the default.
`*_stamp_us` are the Unix microseconds of the reading's last refresh."""

RING = np.dtype(
    {
        "names": ["stamp_ns", "gpu", "requested_mw", "enforced_mw", "pid", "seq", "answer"],
        "formats": ["<u8", "<u4", "<u4", "<u4", "<u4", "<u8", "<u4"],
        "offsets": [0, 8, 12, 16, 20, 24, 32],
        "itemsize": RING_ENTRY_SIZE,
    }
)
"""Entry k lies at k modulo capacity; `seq` = k + 1 is written last, so a torn entry shows. CLOCK_BOOTTIME
stamps. `requested_mw` is what the caller asked, `enforced_mw` the limit in force after the call, `answer`
the NVML code given. A value outside the device's range is refused (2) and still remembered; a caller
without permission leaves no entry."""


@dataclass(frozen=True, slots=True)
class StateFile:
    """Views into one mapped node file: `header` (scalar record), `gpus` (n_gpus,), `ring` (capacity,)."""

    path: Path
    header: np.ndarray
    gpus: np.ndarray
    ring: np.ndarray


class Headed(Protocol):
    """One file, whose `header` is a scalar record, or several, whose headers are an array of records."""

    @property
    def header(self) -> np.ndarray: ...


def size_of(gpu_count: int) -> int:
    """Bytes of a file for so many GPUs."""
    return HEADER_SIZE + gpu_count * GPU_SIZE + RING_CAPACITY * RING_ENTRY_SIZE


def create(path: Path, gpu_count: int, node: str) -> StateFile:
    """A new zeroed file, put in place by rename, mode 0666: a reader never sees it half made."""
    half = path.with_suffix(".new")
    descriptor = os.open(half, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        os.fchmod(descriptor, 0o666)
        os.ftruncate(descriptor, size_of(gpu_count))
    finally:
        os.close(descriptor)
    state = _map(half, gpu_count)
    state.header["version"], state.header["gpu_count"] = VERSION, gpu_count
    state.header["ring_capacity"], state.header["node"] = RING_CAPACITY, node.encode()
    state.header["magic"] = MAGIC
    half.replace(path)
    return StateFile(path, state.header, state.gpus, state.ring)


def attach(path: Path) -> StateFile:
    """The views of a file that exists. Raises `ValueError` if it is not one of ours."""
    with path.open("rb") as file:
        header = np.frombuffer(file.read(HEADER_SIZE), dtype=HEADER)[0]
    if header["magic"] != MAGIC or header["version"] != VERSION:
        raise ValueError(f"{path} is no GPU state file of version {VERSION}")
    return _map(path, int(header["gpu_count"]))


def enforced_limits_mw(gpus: np.ndarray) -> NDArray[np.uint32]:
    """The limit in force per GPU, shape (n_gpus,): what was set, capped from outside, never under min."""
    inside = np.where(gpus["enforced_mw"] > 0, gpus["enforced_mw"], gpus["default_mw"])
    outside = gpus["out_of_band_mw"]
    capped = np.where(outside > 0, np.minimum(inside, outside), inside)
    in_force: NDArray[np.uint32] = np.maximum(capped, gpus["min_mw"]).astype(np.uint32)
    return in_force


@contextmanager
def writing_sensors(state: Headed) -> Iterator[None]:
    """Readings written inside are seen together or not at all by the library. Keep it short: readers wait."""
    begun = state.header["sensor_seq"].astype(np.int64) | 1  # wide enough to be one more than the largest
    state.header["sensor_seq"] = begun
    try:
        yield
    finally:
        state.header["sensor_seq"] = (begun + 1) & 0xFFFFFFFF


def _map(path: Path, gpu_count: int) -> StateFile:
    with path.open("r+b") as file:
        view = mmap.mmap(file.fileno(), size_of(gpu_count))
    header = np.ndarray((), HEADER, view, 0)
    gpus = np.ndarray((gpu_count,), GPU, view, HEADER_SIZE)
    ring = np.ndarray((RING_CAPACITY,), RING, view, HEADER_SIZE + gpu_count * GPU_SIZE)
    return StateFile(path, header, gpus, ring)
