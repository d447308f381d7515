"""What telemetry measured on one node since its last frame."""

from typing import Annotated

import msgspec

from easyrider.messages.base import Count, Message, Name

Samples = Annotated[int, msgspec.Meta(ge=0, le=1000)]
"""Rows of a frame."""
GpuCount = Annotated[int, msgspec.Meta(ge=0, le=1024)]
"""Columns of a frame."""


class NodeFrame(Message, tag="node_frame", frozen=True):
    """Every sample of one node since its last frame, as packed little-endian columns.

    Columns named `fast` below are row-major [sample][gpu]; `slow` ones are [gpu] and empty in nine frames of ten.
    An `ok` column says 0 valid, 1 missing, 2 out of range, 3 blank marker, 4 stuck; an invalid cell holds 0 and
    may not be read (`easyrider.frame_view` returns masked arrays). Every field is required and flat, so a map
    header that counts more entries than there are fields betrays a duplicate key.
    """

    region: Name
    node: Name
    boot_id: Name
    seq: Count
    t_ns: int  # Unix, for people and joins; never for a decision
    mono_ns: Count  # CLOCK_MONOTONIC of the node when the last row was read
    samples: Samples
    gpu_count: GpuCount
    gpus: str  # UUIDs joined by ","; empty while unchanged, said again every 10 s
    gpus_hash: bytes  # first 8 bytes of SHA-256 over the joined UUIDs
    window_s: float  # the instant power field looks back this far
    refresh_s: float  # and is renewed this often
    before_us: bytes  # u4 [sample]: how long before mono_ns the row was read
    power_w: bytes  # f4 fast: instant board power
    power_ok: bytes  # u1 fast
    mean_w: bytes  # f4 fast: energy difference over the counter's own elapsed time
    mean_ok: bytes  # u1 fast
    energy_mj: bytes  # u8 fast: the counter as the driver gives it
    energy_ok: bytes  # u1 fast
    limit_mw: bytes  # u4 fast: enforced limit
    limit_ok: bytes  # u1 fast
    age_ms: bytes  # u2 fast: since the power reading last changed at the sensor; 65535 at most
    temperature_c: bytes  # i2 slow
    util_pct: bytes  # u1 slow
    sm_mhz: bytes  # u2 slow
    mem_mhz: bytes  # u2 slow
    reasons: bytes  # u8 slow: clocks event reasons, NVML's bits
    memory_mb: bytes  # u4 slow: memory used
    mean10_w: bytes  # f4 slow: mean of 10 s
    max10_w: bytes  # f4 slow: largest 100 ms mean or instant reading of 10 s
    slow_ok: bytes  # u1 slow: of temperature, utilisation, clocks, reasons, memory together
    rejected: Count  # readings out of range or blank since start
    cpu_pct: float
    net_rx_bytes_per_s: float
    net_tx_bytes_per_s: float
