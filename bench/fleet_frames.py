"""Frames of many emulated nodes as one array of bytes: written by the product's codec once, then patched in place.

Every node's message has the same length, so a stamp, a counter or a watt of all of them is one column. What leaves is
what `easyrider.wire` would have written; `check` proves it on every shape before a run.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from easyrider import subjects, wire
from easyrider.columns import pack
from easyrider.messages import NodeFrame

GPUS = 8
REGION, TREE = "local", "site"
_FAR = 1 << 40
"""Large enough that MessagePack writes it in eight bytes, as it does every later value of a stamp."""
_FIRST_SEQ = 1 << 40
Bytes = NDArray[np.uint8]


def node_name(node: int) -> str:
    """All of one length."""
    return f"n{node:05d}"


def boot_id(node: int) -> str:
    """Of this node's only boot."""
    return f"00000000-0000-4000-8000-{node:012d}"


def uuids(node: int) -> list[str]:
    """Boards of one node."""
    return [f"GPU-{node:08d}-0000-4000-8000-{board:012d}" for board in range(GPUS)]


def frame(node: int, *, slow: bool, says_gpus: bool) -> NodeFrame:
    """One look at eight boards, as telemetry would say it."""
    joined = ",".join(uuids(node))
    return NodeFrame(
        region=REGION,
        node=node_name(node),
        boot_id=boot_id(node),
        seq=_FIRST_SEQ,
        t_ns=_FAR + 1,
        mono_ns=_FAR + 2,
        samples=1,
        gpu_count=GPUS,
        gpus=joined if says_gpus else "",
        gpus_hash=hashlib.sha256(joined.encode()).digest()[:8],
        window_s=0.025,
        refresh_s=0.1,
        before_us=pack("u4", [0]),
        power_w=pack("f4", [1.5] * GPUS),
        power_ok=bytes(GPUS),
        mean_w=pack("f4", [2.5] * GPUS),
        mean_ok=bytes(GPUS),
        energy_mj=pack("u8", [3] * GPUS),
        energy_ok=bytes(GPUS),
        limit_mw=pack("u4", [700_001] * GPUS),
        limit_ok=bytes(GPUS),
        age_ms=pack("u2", [20] * GPUS),
        temperature_c=pack("i2", [60] * GPUS) if slow else b"",
        util_pct=bytes([98] * GPUS) if slow else b"",
        sm_mhz=pack("u2", [1755] * GPUS) if slow else b"",
        mem_mhz=pack("u2", [2619] * GPUS) if slow else b"",
        reasons=pack("u8", [0] * GPUS) if slow else b"",
        memory_mb=pack("u4", [61440] * GPUS) if slow else b"",
        mean10_w=pack("f4", [300.0] * GPUS) if slow else b"",
        max10_w=pack("f4", [310.0] * GPUS) if slow else b"",
        slow_ok=bytes(GPUS) if slow else b"",
        rejected=0,
        cpu_pct=12.5,
        net_rx_bytes_per_s=1e6,
        net_tx_bytes_per_s=1e6,
    )


class Frames:
    """PUB lines with a frame each, one row a node; with slow columns or without, and with the list of boards."""

    def __init__(self, nodes: range, *, slow: bool, says_gpus: bool = False) -> None:
        rows = [_published(node, slow, says_gpus) for node in nodes]
        self.rows: Bytes = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), -1).copy()
        first = frame(nodes[0], slow=slow, says_gpus=says_gpus)
        self._seq = self._find(rows[0], first.seq.to_bytes(8, "big"), 8)
        self._t_ns = self._find(rows[0], first.t_ns.to_bytes(8, "big"), 8)
        self._mono_ns = self._find(rows[0], first.mono_ns.to_bytes(8, "big"), 8)
        self._power = self._find(rows[0], first.power_w, 4 * GPUS)
        self._mean = self._find(rows[0], first.mean_w, 4 * GPUS)
        self._limit = self._find(rows[0], first.limit_mw, 4 * GPUS)

    def lines(
        self,
        some: slice,
        seq: int,
        stamps_ns: tuple[int, int],
        watts: NDArray[np.float32],
        limit_mw: NDArray[np.uint32],
    ) -> bytes:
        """The lines of some nodes: one seq and one moment (Unix, monotonic) for all, `watts`, `limit_mw` (n, GPUS)."""
        rows = self.rows[some]
        rows[:, self._seq] = _big_endian(_FIRST_SEQ + seq)
        rows[:, self._t_ns], rows[:, self._mono_ns] = map(_big_endian, stamps_ns)
        as_bytes = np.ascontiguousarray(watts, dtype="<f4").view(np.uint8)
        rows[:, self._power] = rows[:, self._mean] = as_bytes
        rows[:, self._limit] = np.ascontiguousarray(limit_mw, dtype="<u4").view(np.uint8)
        return rows.tobytes()

    @staticmethod
    def _find(row: bytes, pattern: bytes, length: int) -> slice:
        if row.count(pattern) != 1:
            raise RuntimeError(f"{pattern!r} stands {row.count(pattern)} times in a frame")
        at = row.index(pattern)
        return slice(at, at + length)


def check(nodes: range) -> None:
    """A patched frame reads back as what was written into it. Raises `RuntimeError`."""
    for slow in (False, True):
        frames = Frames(nodes, slow=slow)
        watts = np.full((len(nodes), GPUS), 123.0, dtype=np.float32)
        limit_mw = np.full((len(nodes), GPUS), 456_000, dtype=np.uint32)
        line = frames.lines(slice(0, 1), 7, (_FAR + 5, _FAR + 6), watts[:1], limit_mw[:1])
        head, _, rest = line.partition(b"\r\n")
        read = wire.decode(rest[: int(head.split()[-1])], (NodeFrame,))
        assert isinstance(read, NodeFrame)
        said = (read.seq, read.t_ns, read.mono_ns, read.mean_w, read.limit_mw)
        if said != (_FIRST_SEQ + 7, _FAR + 5, _FAR + 6, watts[0].tobytes(), limit_mw[0].tobytes()):
            raise RuntimeError(f"a patched frame reads as {said}")


def _published(node: int, slow: bool, says_gpus: bool) -> bytes:
    data = wire.encode(frame(node, slow=slow, says_gpus=says_gpus))
    return published(subjects.frame(REGION, node_name(node)), data)


def published(subject: str, data: bytes) -> bytes:
    """The line of the bus's own protocol that says `data`."""
    return b"PUB %s %d\r\n%s\r\n" % (subject.encode(), len(data), data)


def _big_endian(value: int) -> Bytes:
    return np.frombuffer(value.to_bytes(8, "big"), dtype=np.uint8)
